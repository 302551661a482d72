"""Ladders of frequencies turned into exact integer steps, and the rules that stretch them to longer contexts."""

from .ladder import TURN, TURN_BITS, Ladder, pi_scaled
from .rules import RULES
from .rules.fields import AS_IT_IS, Fields, wrong
from .rules.record import UNIT
from .stretch import Stretch, StretchKind, stretched

__all__ = [
    "AS_IT_IS",
    "RULES",
    "TURN",
    "TURN_BITS",
    "UNIT",
    "Fields",
    "Ladder",
    "Stretch",
    "StretchKind",
    "pi_scaled",
    "stretched",
    "wrong",
]

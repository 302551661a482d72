"""Ladders of frequencies turned into exact integer steps, and the rules that stretch them to longer contexts."""

from .ladder import TURN, TURN_BITS, Ladder, pi_scaled
from .numbers import LARGEST, is_number
from .stretch import Stretch, StretchKind, stretched

__all__ = ["LARGEST", "TURN", "TURN_BITS", "Ladder", "Stretch", "StretchKind", "is_number", "pi_scaled", "stretched"]

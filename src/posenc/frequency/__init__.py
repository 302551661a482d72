"""Ladders of frequencies turned into exact integer steps, and the rules that stretch them to longer contexts."""

from .ladder import TURN, TURN_BITS, Ladder, pi_scaled
from .stretch import Stretch, StretchKind, stretched

__all__ = ["TURN", "TURN_BITS", "Ladder", "Stretch", "StretchKind", "pi_scaled", "stretched"]

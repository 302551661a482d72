"""What convention a tensor, or a checkpoint, speaks."""

from .answers import identify, identify_rows
from .match import Match

__all__ = ["Match", "identify", "identify_rows"]

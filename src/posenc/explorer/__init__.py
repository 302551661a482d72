"""The explorer: one HTML file that is opened from disk, with a state and a report put into its slots."""

from .document import is_ours, page
from .state import RANGES, STATE

__all__ = ["RANGES", "STATE", "is_ours", "page"]

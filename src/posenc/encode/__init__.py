"""The encoding as pure functions."""

from .algebra import shift, shift_matrix, similarity, wavelengths
from .locate import locate
from .values import encode, table

__all__ = ["encode", "locate", "shift", "shift_matrix", "similarity", "table", "wavelengths"]

"""The encoding as pure functions."""

from .algebra import shift, shift_matrix, similarity, wavelengths
from .convert import convert
from .grid import grid
from .locate import locate
from .rotate import rotate
from .values import encode, table

__all__ = [
    "convert",
    "encode",
    "grid",
    "locate",
    "rotate",
    "shift",
    "shift_matrix",
    "similarity",
    "table",
    "wavelengths",
]

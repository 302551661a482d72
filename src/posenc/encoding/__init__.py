"""The encoding as pure functions."""

from .algebra import shift, shift_matrix, similarity, wavelengths
from .conversion import convert
from .grids import grid
from .location import locate
from .rotary import rotate
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

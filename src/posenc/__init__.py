"""Positional encodings for PyTorch: exact, fast, in every convention.

>>> import posenc, torch
>>> layer = posenc.PositionalEncoding(d_model=8, dropout=0.0)
>>> layer(torch.zeros(1, 2, 8))[0, 1, :4]
tensor([0.8415, 0.5403, 0.0998, 0.9950])
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors as errors
    from . import plots as plots
    from .convention import Convention as Convention
    from .convention import conventions as conventions
    from .encode import convert as convert
    from .encode import encode as encode
    from .encode import grid as grid
    from .encode import locate as locate
    from .encode import rotate as rotate
    from .encode import shift as shift
    from .encode import shift_matrix as shift_matrix
    from .encode import similarity as similarity
    from .encode import table as table
    from .encode import wavelengths as wavelengths
    from .identify import identify as identify
    from .model import EncoderBlock as EncoderBlock
    from .modules import AlibiBias as AlibiBias
    from .modules import LearnedPositionalEmbedding as LearnedPositionalEmbedding
    from .modules import PositionalEncoding as PositionalEncoding
    from .modules import RelativePositionBias as RelativePositionBias
    from .modules import RotaryEmbedding as RotaryEmbedding
    from .modules import SequenceEmbedding as SequenceEmbedding
    from .modules import TimestepEmbedding as TimestepEmbedding
    from .positions import positions_from_lengths as positions_from_lengths
    from .positions import positions_from_mask as positions_from_mask
    from .positions import shard_positions as shard_positions

__version__ = "0.1.0"

# Where each public name lives. Loaded when first asked for, so that the command line starts without torch.
_HOMES = {
    "AlibiBias": "modules",
    "Convention": "convention",
    "EncoderBlock": "model",
    "LearnedPositionalEmbedding": "modules",
    "PositionalEncoding": "modules",
    "RelativePositionBias": "modules",
    "RotaryEmbedding": "modules",
    "SequenceEmbedding": "modules",
    "TimestepEmbedding": "modules",
    "conventions": "convention",
    "convert": "encode",
    "encode": "encode",
    "grid": "encode",
    "identify": "identify",
    "locate": "encode",
    "positions_from_lengths": "positions",
    "positions_from_mask": "positions",
    "rotate": "encode",
    "shard_positions": "positions",
    "shift": "encode",
    "shift_matrix": "encode",
    "similarity": "encode",
    "table": "encode",
    "wavelengths": "encode",
}

__all__ = [
    "AlibiBias",
    "Convention",
    "EncoderBlock",
    "LearnedPositionalEmbedding",
    "PositionalEncoding",
    "RelativePositionBias",
    "RotaryEmbedding",
    "SequenceEmbedding",
    "TimestepEmbedding",
    "__version__",
    "conventions",
    "convert",
    "encode",
    "errors",
    "grid",
    "identify",
    "locate",
    "plots",
    "positions_from_lengths",
    "positions_from_mask",
    "rotate",
    "shard_positions",
    "shift",
    "shift_matrix",
    "similarity",
    "table",
    "wavelengths",
]


def __getattr__(name: str) -> Any:
    if name in ("errors", "plots", "positions"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'posenc' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(types.ModuleType):
    """A package in which a function may have the name of the module that holds it (`posenc.encode`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds every submodule to its parent: the public name goes before.
        if not (name in _HOMES and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if "IPython" in sys.modules:
    # A notebook shows conventions and layers with a small picture; elsewhere nothing of this is loaded.
    importlib.import_module(".plots.notebook", __name__).register()

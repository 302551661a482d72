"""Positional encodings for PyTorch: exact, fast, in every convention.

>>> import posenc, torch
>>> layer = posenc.PositionalEncoding(d_model=8, dropout=0.0)
>>> layer(torch.zeros(1, 2, 8))[0, 1, :4]
tensor([0.8415, 0.5403, 0.0998, 0.9950])
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors as errors
    from . import plots as plots
    from .convention import Convention as Convention
    from .convention import conventions as conventions
    from .encoding import convert as convert
    from .encoding import encode as encode
    from .encoding import grid as grid
    from .encoding import locate as locate
    from .encoding import rotate as rotate
    from .encoding import shift as shift
    from .encoding import shift_matrix as shift_matrix
    from .encoding import similarity as similarity
    from .encoding import table as table
    from .encoding import wavelengths as wavelengths
    from .identification import identify as identify
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
    "convert": "encoding",
    "encode": "encoding",
    "grid": "encoding",
    "identify": "identification",
    "locate": "encoding",
    "positions_from_lengths": "positions",
    "positions_from_mask": "positions",
    "rotate": "encoding",
    "shard_positions": "positions",
    "shift": "encoding",
    "shift_matrix": "encoding",
    "similarity": "encoding",
    "table": "encoding",
    "wavelengths": "encoding",
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


if "IPython" in sys.modules:
    # A notebook shows conventions and layers with a small picture; elsewhere nothing of this is loaded.
    importlib.import_module(".plots.notebook", __name__).register()

"""The modules, the only floor with state."""

from .positional import PositionalEncoding
from .sequence import SequenceEmbedding

__all__ = ["PositionalEncoding", "SequenceEmbedding"]

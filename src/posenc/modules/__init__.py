"""The modules, the only floor with state."""

from .positional import PositionalEncoding
from .sequence import SequenceEmbedding
from .timestep import TimestepEmbedding

__all__ = ["PositionalEncoding", "SequenceEmbedding", "TimestepEmbedding"]

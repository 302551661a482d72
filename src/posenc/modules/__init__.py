"""The modules, the only floor with state."""

from .alibi import AlibiBias
from .learned import LearnedPositionalEmbedding
from .positional import PositionalEncoding
from .relative import RelativePositionBias
from .rotary import RotaryEmbedding
from .sequence import SequenceEmbedding
from .timestep import TimestepEmbedding

__all__ = [
    "AlibiBias",
    "LearnedPositionalEmbedding",
    "PositionalEncoding",
    "RelativePositionBias",
    "RotaryEmbedding",
    "SequenceEmbedding",
    "TimestepEmbedding",
]

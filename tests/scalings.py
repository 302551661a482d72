"""Scaling dictionaries of each kind for heads of eight columns, and the frequencies that come of them."""

import torch

from posenc import RotaryEmbedding
from posenc.frequency import TURN

DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 8}
LONGROPE = {
    "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 8,
    "short_factor": [1.0, 1.0, 1.5, 2.0], "long_factor": [1.0, 2.0, 3.0, 4.0],
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 64,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0,
}  # fmt: skip


def frequencies(rotary: RotaryEmbedding, length: int | None = None) -> torch.Tensor:
    """Radians per position of its pairs (pairs,), for a sequence of this length."""
    steps = [step for part in rotary._of(length).parts[:1] for step in part.ladder.steps]
    return torch.tensor([step / TURN for step in steps], dtype=torch.float64) * (2 * torch.pi)

"""The attention layer of the page, in torch: the page holds its weights, and must find its numbers."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from ..encoding import table
from ..errors import refuse
from ..model import repeatable
from .sentence import split_words
from .words import vector

DIM, HEADS, SEED = 32, 4, 0
# As many as the page takes: attention compares every word with every other.
MOST_WORDS = 500
WEIGHTS = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")

Encoding = Literal["none", "sinusoidal"]


def layer() -> nn.MultiheadAttention:
    """The layer, untrained, as torch makes it from the seed, in float32 and eval mode; the same at every call.

    >>> tuple(layer().in_proj_weight.shape)
    (96, 32)
    """
    with repeatable(SEED):
        return nn.MultiheadAttention(DIM, HEADS, batch_first=True, dtype=torch.float32).eval()


def attend(sentence: str, encoding: Encoding = "none", *, dtype: torch.dtype = torch.float64) -> Tensor:
    """What the layer puts out for each word of a sentence, (words, 32).

    A word is its vector (`words.vector`), and with "sinusoidal" the encoding of its position is added to it.
    Weights are rounded to float32 once, and taken as they are in a wider dtype: so the page has them.

    Args:
        sentence: at most 500 words, as `sentence.split_words` finds them; may be empty.
        encoding: "none", or "sinusoidal", that of the paper.
        dtype: what is computed in, float32 or float64.

    Law: without encoding, attend of a shuffled sentence is the shuffled attend, but for rounding.

    >>> here, there = attend("man bites dog"), attend("dog bites man")
    >>> (here - there.flip(0)).abs().max() < 1e-15
    tensor(True)
    >>> here, there = attend("man bites dog", "sinusoidal"), attend("dog bites man", "sinusoidal")
    >>> (here - there.flip(0)).abs().max() > 0.1
    tensor(True)
    """
    if encoding not in ("none", "sinusoidal"):
        refuse(f"encoding={encoding!r}", '"none" or "sinusoidal"', "leave it out for none")
    words = split_words(sentence)
    if len(words) > MOST_WORDS:
        refuse(f"a sentence of {len(words)} words", f"at most {MOST_WORDS}", "cut it")
    if not words:
        return torch.empty(0, DIM, dtype=dtype)
    x = torch.tensor([vector(word, DIM) for word in words], dtype=torch.float64)
    if encoding == "sinusoidal":
        x = x + table(len(words), DIM, dtype=torch.float64)
    with torch.no_grad():
        x = x.to(dtype).unsqueeze(0)
        found: Tensor = layer().to(dtype)(x, x, x, need_weights=False)[0][0]
    return found

"""The main job: why attention needs positions, and what the encoding does, measured on a text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..errors import refuse
from ..explorer.sentence import RULE, split_words
from . import extrapolation, order, properties, roles
from .roles import Pace
from .text import Text, check_sentence, read_text

__all__ = ["SCHEMA", "SENTENCES", "Pace", "Text", "read_text", "run", "sections", "split_words"]

SCHEMA = 1
SENTENCES = ("man bites dog", "dog bites man")
NARROWEST, WIDEST = 8, 1_024
FAST_WORDS = 512


def sections(
    text: Text,
    sentences: tuple[str, str] = SENTENCES,
    *,
    dim: int = 64,
    seed: int = 0,
    pace: Pace = "full",
    on_step: Callable[[str, int, int], None] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The stations of the tour, each with its name and its numbers, in the order they are measured.

    Input is looked at before anything is measured.

    Args:
        text: from `read_text`.
        sentences: two sentences; permutations of each other show the point best.
        dim: width of the encoding, even, 8 to 1024.
        seed: of the layers, the shuffle and the training.
        pace: "fast" measures at most 512 positions, and trains less.
        on_step: hears of the training: name of the model, steps done, steps there are.
    """
    if dim % 2 or not NARROWEST <= dim <= WIDEST:
        refuse(f"dim={dim}", f"an even width from {NARROWEST} to {WIDEST}", "pass dim=64, or your model's width")
    if not 0 <= seed < 2**63:
        refuse(f"seed={seed}", "an integer from 0 to 2^63 - 1", "pass a smaller one, such as seed=0")
    if pace not in roles.STEPS:
        refuse(f"pace={pace!r}", '"full" or "fast"', "leave it out for the full tour")
    first, second = (check_sentence(sentence) for sentence in sentences)
    return _measured(text, (first, second), dim, seed, pace, on_step)


def _measured(
    text: Text,
    sentences: tuple[list[str], list[str]],
    dim: int,
    seed: int,
    pace: Pace,
    on_step: Callable[[str, int, int], None] | None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    words = text.words[:FAST_WORDS] if pace == "fast" else text.words
    length = len(words)
    yield (
        "text",
        {
            "name": text.name,
            "words": length,
            "distinct_words": len(set(words)),
            "part": text.part if length == len(text.words) else "start",
            "source": text.source,
            "rule": RULE,
        },
    )
    yield "order", order.measure(words, sentences, dim=dim, seed=seed)
    yield "encoding", properties.shown(words, dim)
    yield "wavelengths", properties.clocks(length, dim)
    rows = properties.rows_of(length, dim)
    yield "uniqueness", properties.uniqueness(rows)
    yield "size", properties.size(rows)
    yield "rotation", properties.rotation(rows)
    yield "similarity", properties.likeness(rows)
    yield "extrapolation", extrapolation.measure(length, dim)
    yield "roles", roles.measure(seed=seed, pace=pace, on_step=on_step)


def run(
    text: Text,
    sentences: tuple[str, str] = SENTENCES,
    *,
    dim: int = 64,
    seed: int = 0,
    pace: Pace = "full",
    on_step: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """The whole tour as one nested dict that `json` can write; the arguments of `sections`.

    `roles.none.accuracy` and `roles.sinusoidal.accuracy` are fractions.
    """
    started = time.perf_counter()
    result = head(dim=dim, seed=seed, pace=pace)
    result.update(sections(text, sentences, dim=dim, seed=seed, pace=pace, on_step=on_step))
    result["seconds"] = time.perf_counter() - started
    return result


def head(*, dim: int, seed: int, pace: Pace) -> dict[str, Any]:
    """What was asked, and of which versions."""
    from .. import __version__

    return {
        "schema": SCHEMA,
        "command": "tour",
        "posenc": __version__,
        "torch": torch.__version__,
        "dim": dim,
        "seed": seed,
        "pace": pace,
    }

"""Trains one small model twice on "who bit whom", without positions and with the encoding."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import torch

from ..model import Classifier, accuracy, fit, logits, parameter_count, repeatable
from ..modules import PositionalEncoding
from ..tasks import roles, token_ids

Pace = Literal["full", "fast"]

SENTENCES = 20_000
BATCH = 64
STEPS: dict[Pace, int] = {"full": 900, "fast": 400}


def measure(
    *, seed: int, pace: Pace = "full", on_step: Callable[[str, int, int], None] | None = None
) -> dict[str, Any]:
    """Accuracies on noun pairs that training never showed, with the bounds without order.

    Both models start from the same numbers and see the same sentences in the same order.
    `on_step` hears what is trained, the steps done and the steps there are.
    """
    steps = STEPS[pace]
    task = roles(seed=seed, train_size=SENTENCES)
    lowest, highest = task.bounds_without_order()
    train = token_ids(task.train.sentences, task.vocabulary)
    test = token_ids(task.test.sentences, task.vocabulary)
    train_labels, test_labels = torch.tensor(task.train.labels), torch.tensor(task.test.labels)
    twins = [" ".join(sentence) for sentence in task.test.sentences[:2]]
    result: dict[str, Any] = {
        "question": task.question,
        "twins": {"sentences": twins, "labels": list(task.test.labels[:2])},
        "train_sentences": len(train),
        "test_sentences": len(test),
        "steps": steps,
        "bound_without_order": {"lowest": float(lowest), "highest": float(highest)},
    }
    for name in ("none", "sinusoidal"):
        started = time.perf_counter()
        if on_step is not None:
            on_step(name, 0, steps)  # before torch loads its optimisers, which takes a moment
        with repeatable(seed):
            model = Classifier(len(task.vocabulary))
            if name == "sinusoidal":
                longest = max(train.shape[1], test.shape[1])
                model.encoding = PositionalEncoding(model.dim, dropout=0.0, max_len=longest)
            loss = fit(
                model,
                train,
                train_labels,
                steps=steps,
                batch_size=BATCH,
                on_step=None if on_step is None else _named(on_step, name, steps),
            )
            answers = logits(model, test)
        result[name] = {
            "accuracy": accuracy(answers, test_labels),
            "largest_difference_of_twins": (answers[0::2] - answers[1::2]).abs().max().item(),
            "last_loss": loss,
            "parameters": parameter_count(model),
            "seconds": time.perf_counter() - started,
        }
    return result


def _named(on_step: Callable[[str, int, int], None], name: str, steps: int) -> Callable[[int, float], None]:
    return lambda done, _loss: on_step(name, done, steps)

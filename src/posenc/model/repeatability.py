"""Runs code with one thread and a fixed seed, then gives the caller both back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Inside, torch draws from `seed` on one thread; outside, nothing has changed.

    >>> with repeatable(0):
    ...     first = torch.randn(3)
    >>> with repeatable(0):
    ...     second = torch.randn(3)
    >>> torch.equal(first, second)
    True
    """
    threads = torch.get_num_threads()
    # More threads split the sums elsewhere, and training is no longer the same to the last bit.
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)

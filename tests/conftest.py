"""What every test runs under: a fixed seed, unwritten memory that shows, compiler caches out of the way."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

SEED = 2017

# Plain modules whose assertions are to say what differs.
pytest.register_assert_rewrite("tests.cases")

# Compiled code goes into one folder of the user's, apart from other work and kept between runs.
USER = getattr(os, "getuid", int)()
CACHE = Path(tempfile.gettempdir()) / f"posenc-tests-{USER}"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHE))


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test starts from the same random state, whatever ran before it."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  # old code draws from the global generator
    torch.manual_seed(SEED)


@pytest.fixture(autouse=True)
def unwritten_memory_shows() -> Iterator[None]:
    """torch.empty and its kin hold NaN, and the largest value of integer dtypes, until they are written."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)

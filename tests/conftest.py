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

# Workers share the cores: each keeps to one, with the processes that it starts and the compilers of torch.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    torch.set_num_threads(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Matrices that take minutes to hours run only where they are asked for, and count as deselected elsewhere."""
    if "exhaustive" in config.getoption("markexpr") or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    config.hook.pytest_deselected(items=left_out)


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

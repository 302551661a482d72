"""The guards that every test runs under do guard."""

import os
import random

import numpy as np
import pytest
import torch

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.complex128]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_unwritten_memory_is_nan(dtype):
    written = torch.zeros(3, 5, dtype=dtype)

    unwritten = [
        torch.empty(3, 5, dtype=dtype),
        torch.empty_like(written),
        torch.empty_strided((3, 5), (5, 1), dtype=dtype),
        written.new_empty(3, 5),
        torch.empty(0, dtype=dtype).resize_(3, 5),
        torch.nn.Linear(5, 3, device="meta", dtype=dtype).to_empty(device="cpu").weight,
    ]

    assert [bool(tensor.isnan().all()) for tensor in unwritten] == [True] * len(unwritten)


def test_unwritten_integers_are_the_largest():
    assert torch.empty(3, dtype=torch.int64).tolist() == [torch.iinfo(torch.int64).max] * 3


drawn = []


@pytest.mark.parametrize("order", ["first", "second"])
def test_every_test_draws_the_same_numbers(order):
    drawn.append((random.random(), float(np.random.rand()), float(torch.rand(()))))  # noqa: NPY002

    assert drawn == drawn[:1] * len(drawn)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="tests run in one process, which has all cores")
def test_a_worker_keeps_to_one_core():
    from torch._inductor import config

    assert (torch.get_num_threads(), config.compile_threads) == (1, 1)

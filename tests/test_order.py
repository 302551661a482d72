"""Whatever was called before, beside or above: the same call gives the same bits."""

import os
import random
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tests.caches import forget
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from posenc import Convention, conventions, encode, locate, shift, shift_matrix, similarity, table, wavelengths
from posenc.trig.certify import CERTIFIED
from posenc.trig.rows import ROWS

WHERE = torch.tensor([0, 1, -1, 255, 256, 70000, -(2**62), 2**63 - 1])
MANY = torch.arange(-100, 400)
CELLS = torch.stack([WHERE, WHERE.flip(0)], -1)
SLOW = Convention(base=1e12)


def calls():
    """Calls that share caches where a key is too short: widths, bases, layouts, dtypes, offsets, starts."""
    for convention in ("transformer", "fairseq", "marian", "musicgen", SLOW, Convention(position_scale=-1)):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            yield lambda c=convention, d=dtype: encode(WHERE, 10, c, dtype=d)
            yield lambda c=convention, d=dtype: table(300, 10, c, start=-20, dtype=d)
        yield lambda c=convention: encode(MANY, 12, c, dtype=torch.float16)
        yield lambda c=convention: encode(WHERE.double() / 4, 10, c)
        yield lambda c=convention: shift(encode(3, 10, c), 5, c)
        yield lambda c=convention: shift_matrix(7, 10, c)
        yield lambda c=convention: similarity(7, 10, c)
        yield lambda c=convention: wavelengths(10, c)
        yield lambda c=convention: locate(table(30, 10, c), c)
    for convention in ("x-transformers", "patchtst", "kimi-k25-time", conventions["marian"].as_released()):
        yield lambda c=convention: encode(WHERE, 10, c)
        yield lambda c=convention: table(30, 10, c, start=-20)
    for convention in ("mae-2d", "detr-2d", "timm-sincos2d-rev0-il0", "timm-sincos2d-rev1-il0"):
        yield lambda c=convention: encode(CELLS, 12, c)
        yield lambda c=convention: shift(encode([3, 1], 12, c), [5, -2], c)
        yield lambda c=convention: locate(encode([[3, 1], [0, 6]], 12, c), c)


CALLS = list(calls())


@pytest.fixture(scope="module")
def alone():
    """What every call gives in a fresh process."""
    results = []
    for call in CALLS:
        forget()
        results.append(call())
    return results


@pytest.fixture(autouse=True)
def nothing_is_kept():
    forget()
    yield
    forget()


def any_order(seeds=(1,)):
    """Every call gives what it gives alone, whatever came before it."""
    fresh = []
    for call in CALLS:
        forget()
        fresh.append(call())
    forget()
    for seed in seeds:
        order = random.Random(seed).sample(range(len(CALLS)), len(CALLS))
        assert all(torch.equal(CALLS[i](), fresh[i]) for i in order)


def test_in_any_order():
    any_order(seeds=(1, 2, 3))


def test_from_many_threads(alone):
    start = threading.Barrier(8)

    def work(seed):
        order = random.Random(seed).sample(range(len(CALLS)), len(CALLS))
        start.wait()
        return all(torch.equal(CALLS[i](), alone[i]) for i in order)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_many_threads_on_one_table():
    # Nearly every value of its slowest sines is in doubt, so that much is looked at, and kept, at the same time.
    right = table(2000, 16, SLOW)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            forget()
            with ThreadPoolExecutor(6) as pool:
                tables = list(pool.map(lambda i: table(600 + 256 * (i % 6), 16, SLOW), range(12)))
            assert all(torch.equal(rows, right[: len(rows)]) for rows in tables)
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_with_any_number_of_threads(threads):
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            forget()
            for dtype in (torch.float32, torch.float64):
                # Large enough for torch to share the work.
                results.append(table(700, 258, dtype=dtype, start=-300))
                results.append(encode(torch.arange(-300, 400), 258, dtype=dtype))
    finally:
        torch.set_num_threads(before)

    for i in range(4):
        assert torch.equal(results[i], results[i + 4])
        assert torch.equal(results[i], results[i - i % 2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("warm", [False, True])
def test_in_a_child_that_was_forked_while_the_caches_were_locked(warm, alone):
    if warm:
        CALLS[0]()
    with ROWS._lock, CERTIFIED._lock:
        child = os.fork()
        if child == 0:
            # No way back into pytest from here, whatever happens.
            signal.alarm(60)
            torch.set_num_threads(1)
            right = all(torch.equal(call(), result) for call, result in zip(CALLS[::5], alone[::5], strict=True))
            os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


def test_results_are_the_callers_to_change(alone):
    for call in CALLS:
        call().zero_()

    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_positions_are_left_alone():
    where = WHERE.clone()
    encode(where, 10)
    shift(encode(where, 10), where)

    assert torch.equal(where, WHERE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_under_another_default_dtype(dtype, alone):
    torch.set_default_dtype(dtype)
    try:
        there = [call() for call in CALLS[:6]]
    finally:
        torch.set_default_dtype(torch.float32)

    for result, same in zip(there, alone, strict=False):
        assert torch.equal(result, same)
    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_a_comparison_of_positions_does_not_pass_through_the_default_dtype():
    # 16777217 is 16777216 in float32: were it taken for the position that cancels the offset, a tie would stand.
    for i in range(40):
        first = float(torch.asin(torch.tensor(0.5 + (2 * i + 1) * 2.0**-25, dtype=torch.float64)))
        plain = encode(1, 2, Convention(first=first))
        moved = Convention(first=first, position_offset=-16777216)

        assert torch.equal(encode(16777217, 2, moved), plain)
        assert torch.equal(table(1, 2, moved, start=16777217)[0], plain)


def test_under_a_default_device_without_data(alone):
    with torch.device("meta"):
        assert encode([1], 10).device.type == "meta"
        assert table(3, 10).device.type == "meta"
        assert torch.equal(table(300, 10, start=-20, device="cpu"), alone[1])
        assert torch.equal(encode(WHERE, 10), alone[0])
        assert torch.equal(locate(alone[0][:2]), torch.tensor([0, 1], device="cpu"))
        assert torch.equal(shift(alone[0], 3), shift(alone[0], 3))

    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_in_inference_mode_and_out_again(alone):
    with torch.inference_mode():
        inside = [call() for call in CALLS]
    weight = torch.ones(10, requires_grad=True)
    (encode(WHERE, 10) * weight).sum().backward()
    (table(300, 10, start=-20) * weight).sum().backward()

    assert weight.grad is not None
    assert all(torch.equal(a, b) for a, b in zip(inside, alone, strict=True))
    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))
    assert not any(value.is_inference() for value, _ in ROWS._entries.values())


@pytest.mark.parametrize("context", [torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_under_other_contexts(context, alone):
    with context():
        assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


FAKES = {
    "a list": lambda: encode([1, 2], 10),
    "a tensor": lambda: encode(torch.arange(2), 10),
    "many": lambda: encode(torch.arange(300), 10)[:2],
    "a table": lambda: table(300, 10)[:2],
    "a shift": lambda: shift(torch.zeros(2, 10), 3),
    "cells": lambda: encode(torch.zeros(2, 2), 10, "positional-encodings-2d"),
    "a gain": lambda: table(2, 10, "x-transformers"),
}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("call", FAKES.values(), ids=FAKES)
def test_tensors_without_data_stay_out_of_the_caches(call, warm, alone):
    if warm:
        for real in CALLS[:8]:
            real()
    with FakeTensorMode():
        result = call()

    assert isinstance(result, FakeTensor)
    assert result.shape == (2, 10)
    assert all(torch.equal(real(), right) for real, right in zip(CALLS, alone, strict=True))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_traced_calls_leave_nothing_behind(mode, alone):
    traced = make_fx(lambda where: encode(where, 10), tracing_mode=mode)(WHERE)

    assert torch.equal(traced(WHERE), alone[0])
    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_functional_tensors_stay_out_of_the_caches(alone):
    assert torch.equal(torch.func.functionalize(lambda where: encode(where, 10))(WHERE), alone[0])
    torch.func.functionalize(lambda x: table(300, 10) + x)(torch.ones(1))

    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_batched_by_vmap(alone):
    where = torch.arange(24).view(4, 3, 2)
    rows = encode(where, 10)

    assert torch.equal(torch.func.vmap(lambda p: encode(p, 10))(where), rows)
    assert torch.equal(
        torch.func.vmap(torch.func.vmap(lambda p: encode(p, 10, "fairseq")))(where.double()),
        encode(where, 10, "fairseq"),
    )
    assert torch.equal(
        torch.func.vmap(lambda x: x + encode([1, 2], 10))(torch.zeros(3, 2, 10)), encode([1, 2], 10).expand(3, 2, 10)
    )
    assert torch.equal(torch.func.vmap(shift)(rows, where), shift(rows, where))
    for name in ("mae-2d", "x-transformers", "kimi-k25-time", "speechbrain-relposencxl"):
        assert torch.equal(torch.func.vmap(lambda p, c=name: encode(p, 12, c))(where), encode(where, 12, name))
    cells = encode(where, 12, "mae-2d")
    assert torch.equal(torch.func.vmap(lambda x, k: shift(x, k, "mae-2d"))(cells, where), shift(cells, where, "mae-2d"))
    assert torch.equal(torch.func.vmap(lambda k: similarity(k, 10))(where), similarity(where, 10))
    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))


def test_where_values_cannot_be_looked_at_a_position_that_is_none_gives_nan():
    where = torch.tensor([1.0, float("nan"), float("inf"), -(2.0**63), 2.0**62], dtype=torch.float64)
    rows = torch.func.vmap(lambda p: encode(p, 10, dtype=torch.bfloat16))(where)

    assert rows.isnan().all(-1).tolist() == [False, True, True, True, False]
    assert torch.equal(rows[[0, 4]], encode([1, 2**62], 10, dtype=torch.bfloat16))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*lru_cache:UserWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled(backend, alone):
    torch.compiler.reset()
    rows = alone[0]
    compiled = torch.compile(lambda where, x: (encode(where, 10), shift(x, 3)), backend=backend)
    encoded, moved = compiled(WHERE, rows)

    assert torch.equal(encoded, rows)
    assert torch.equal(moved, shift(rows, 3))
    assert all(torch.equal(call(), result) for call, result in zip(CALLS, alone, strict=True))

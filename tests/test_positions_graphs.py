"""The makers of positions inside compilers, exporters and transforms, and where no value may be looked at."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, export

from posenc import Convention, PositionalEncoding, positions_from_lengths, positions_from_mask, shard_positions
from posenc.positions import (
    decoding_positions,
    grid_positions,
    last_positions,
    next_positions,
    positions_from_timestamps,
    positions_of_map,
    rolling_positions,
    shard_indices,
)


def mask_of(n):
    return (torch.arange(3 * n).view(3, n) % 4 > 0).long()


def ends_of(n):
    return torch.tensor([0, 1, 1, n - 4, n])


def map_of(n):
    return torch.ones(2, n, n).tril().bool()


# What is called with tensors that belong to a length of 4 units.
CALLS = {
    "mask": (positions_from_mask, mask_of),
    "padding": (lambda m: positions_from_mask(key_padding_mask=m == 0, filler=m.shape[1]), mask_of),
    "next": (next_positions, mask_of),
    "lengths": (lambda e, n: positions_from_lengths(e.diff(), total=n), lambda n: (ends_of(n), n)),
    "ends": (lambda e, n: positions_from_lengths(cu_seqlens=e, total=n), lambda n: (ends_of(n), n)),
    "rows of ends": (
        lambda e, n: positions_from_lengths(cu_seqlens=e.expand(2, 5), total=n),
        lambda n: (ends_of(n), n),
    ),
    "continued": (
        lambda e, n: positions_from_lengths(cu_seqlens=e, total=n, documents="continue"),
        lambda n: (ends_of(n), n),
    ),
    "decoding": (lambda m: decoding_positions(m.shape[1], m.sum(1)), mask_of),
    "decoding by an int": (lambda m: decoding_positions(m.shape[1], m.shape[1] + 2), mask_of),
    "last": (lambda m: last_positions(2, m.sum(1)), mask_of),
    "last by an int": (lambda m: last_positions(2, m.shape[1]), mask_of),
    "ring": (lambda m: rolling_positions(m.sum(1), 5), mask_of),
    "oldest first": (lambda m: rolling_positions(m.shape[1], m.shape[1] + 1, order="oldest-first"), mask_of),
    **{
        kind: (lambda m, kind=kind: shard_positions(m.shape[1], 1, 2, kind=kind), mask_of)
        for kind in ("contiguous", "zigzag", "striped")
    },
    **{
        f"{kind} {cut}": (
            lambda e, n, kind=kind, cut=cut: shard_positions(n, 1, 2, kind=kind, cut=cut, cu_seqlens=e),
            lambda n: (torch.tensor([0, 4, 4, n]), n),
        )
        for kind in ("contiguous", "zigzag", "striped")
        for cut in ("whole", "each")
    },
    "map": (positions_of_map, map_of),
    "map of indices": (lambda m: positions_of_map(m, convention="detr-2d"), map_of),
    "map of a convention": (
        lambda m: positions_of_map(m, convention=Convention(axes=("row", "column"), cells="centres")),
        map_of,
    ),
    "grid": (lambda m: grid_positions((m.shape[1], 3)), mask_of),
    "seconds": (lambda m: positions_from_timestamps(m.cumsum(1) * 10**9 + 1, "s", origin=7, resolution="ns"), mask_of),
    "rows of origins": (lambda m: positions_from_timestamps(m * 90, "ns", resolution="s", origin=m[:, 0]), mask_of),
    "days": (lambda m: positions_from_timestamps(m * 10**6, "day", resolution="s", fractions="drop"), mask_of),
}


def arguments_of(make, n):
    made = make(n)
    return made if isinstance(made, tuple) else (made,)


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def assert_same(got, expected):
    """Equal; the fractions of a map within the roundings of two sums and a quotient, and the one of eager mode."""
    if got.is_floating_point():
        assert got.dtype == expected.dtype
        assert bool(((got - expected).abs() <= 4 * 2.0**-53 * expected.abs()).all())
    else:
        assert torch.equal(got, expected)


@pytest.mark.parametrize(("call", "make"), CALLS.values(), ids=CALLS)
def test_one_graph_for_all_lengths(call, make):
    counter = CompileCounter()
    compiled = torch.compile(call, backend=counter, fullgraph=True)

    for n in (8, 12, 16, 24, 40):
        arguments = arguments_of(make, n)
        assert_same(compiled(*arguments), call(*arguments))

    # The first length is compiled for itself, the second one for all.
    assert counter.frame_count <= 2


# Those that differ in what they ask of Inductor; the graphs of all are those of the test above.
ALIKE = {
    "next": "mask",
    "ends": "lengths",
    "rows of ends": "lengths",
    "decoding by an int": "decoding",
    "last by an int": "last",
    "contiguous": "zigzag",
    "contiguous whole": "zigzag whole",
    "contiguous each": "striped each",
    "zigzag each": "striped each",
    "striped whole": "zigzag whole",
    "map of indices": "map",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] if name in ALIKE else []) for name in CALLS]
)
def test_inductor_equals_eager(name):
    call, make = CALLS[name]
    compiled = torch.compile(call, fullgraph=True, dynamic=True)
    for n in (8, 40):
        arguments = arguments_of(make, n)
        assert_same(compiled(*arguments), call(*arguments))


class Model(nn.Module):
    """Masks, packed documents, shards and timestamps in one program."""

    def __init__(self):
        super().__init__()
        self.encoding = PositionalEncoding(8, 0.0, max_len=16)

    def forward(self, x, mask, ends, stamps):
        length = x.shape[1]
        local = shard_indices(length, 1, 2, kind="striped")
        return (
            self.encoding(x, positions=positions_from_mask(mask)),
            self.encoding(x[:, :1], offset=next_positions(mask)),
            self.encoding(x, positions=positions_from_lengths(cu_seqlens=ends, total=length)),
            self.encoding(x[:, local], positions=positions_from_mask(mask)[:, local]),
            self.encoding(x, positions=positions_from_timestamps(stamps, "s", origin=10**9, resolution="ns")),
            rolling_positions(next_positions(mask), 5),
        )


def inputs(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, :2] = 0
    stamps = torch.arange(length) * 1500000000 + 12345
    return torch.randn(batch, length, 8), mask, torch.tensor([0, 2, length - 1, length]), stamps


def program():
    b, s = Dim("b", min=2), Dim("s", min=6)
    shapes = {"x": {0: b, 1: s}, "mask": {0: b, 1: s}, "ends": None, "stamps": {0: s}}
    return export(Model().eval(), inputs(2, 10), dynamic_shapes=shapes)


def test_export_runs_at_any_length_and_equals_eager():
    exported, model = program().module(), Model().eval()

    for batch, length in ((2, 10), (3, 7), (2, 500)):
        given = inputs(batch, length)
        for got, wanted in zip(exported(*given), model(*given), strict=True):
            assert torch.equal(got, wanted)


@pytest.mark.parametrize("kind", ["contiguous", "striped", "zigzag"])
def test_export_of_a_shard_runs_at_every_multiple(kind):
    class Local(nn.Module):
        def forward(self, x):
            return x[shard_positions(x.shape[0], 1, 3, kind=kind)]

    exported = export(Local(), (torch.randn(24),), dynamic_shapes={"x": {0: 6 * Dim("s", min=2)}}).module()

    for length in (12, 24, 600):
        x = torch.randn(length)
        assert torch.equal(exported(x), Local()(x))


@pytest.mark.slow
def test_onnx_runtime_equals_eager(tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="the ONNX exporter of torch needs onnxscript")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its own internals
        torch.onnx.export(program(), dynamo=True, verbose=False).save(str(tmp_path / "positions.onnx"))
    session = runtime.InferenceSession(str(tmp_path / "positions.onnx"), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]

    for batch, length in ((2, 10), (3, 33)):
        given = inputs(batch, length)
        made = session.run(None, dict(zip(names, (one.numpy() for one in given), strict=True)))
        for got, wanted in zip(made, Model().eval()(*given), strict=True):
            # Constants of the exporter are float32; sums with x, below 8, have units of 2^-21.
            assert (torch.from_numpy(got) - wanted).abs().max() <= 5e-7 + 2.0**-21


def test_a_missing_timestamp_gives_nan_in_a_graph():
    compiled = torch.compile(
        lambda t: positions_from_timestamps(t, "s", resolution="ns"), backend="aot_eager", fullgraph=True
    )

    made = compiled(torch.tensor([-(2**63), 10**9]))

    assert made.isnan().tolist() == [True, False]
    assert made[1] == 1


def test_tokens_beyond_the_last_document_count_as_one_more_in_a_graph():
    compiled = torch.compile(lambda e: positions_from_lengths(cu_seqlens=e, total=7), backend="eager", fullgraph=True)

    assert compiled(torch.tensor([0, 2, 5])).tolist() == [0, 1, 0, 1, 2, 0, 1]
    assert compiled(torch.tensor([0, 6, 9])).tolist() == [0, 1, 2, 3, 4, 5, 0]


def test_an_offset_that_changes_in_place_is_read_again():
    offset, counter = torch.tensor(3), CompileCounter()
    compiled = torch.compile(lambda o: decoding_positions(2, o), backend=counter, fullgraph=True)
    compiled(offset)
    offset.fill_(70)

    assert compiled(offset).tolist() == [70, 71]
    assert counter.frame_count == 1


def test_lists_are_constants_of_a_graph():
    def call(x):
        return x + positions_from_lengths([2, 0, 3]) + positions_from_lengths(cu_seqlens=[0, 4, 5])

    compiled = torch.compile(call, backend="eager", fullgraph=True)

    assert compiled(torch.zeros(5)).tolist() == call(torch.zeros(5)).tolist() == [0, 2, 2, 4, 2]


@pytest.mark.parametrize(("call", "make"), CALLS.values(), ids=CALLS)
def test_nothing_is_read_where_there_are_no_values(call, make):
    arguments = arguments_of(make, 8)
    wanted = call(*arguments)
    meta = [one.to("meta") if isinstance(one, torch.Tensor) else one for one in arguments]
    made = call(*meta)
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    with FakeTensorMode() as mode:
        fake = [mode.from_tensor(one) if isinstance(one, torch.Tensor) else one for one in arguments]
        assert call(*fake).shape == wanted.shape
    with torch.inference_mode():
        assert torch.equal(call(*arguments), wanted)
    made = call(*arguments)
    assert made.add_(1) is made  # a plain tensor of its own


def test_rows_under_vmap():
    mask = mask_of(8)
    for call in (positions_from_mask, next_positions, lambda m: positions_from_timestamps(m, "s", resolution="ns")):
        assert torch.equal(torch.func.vmap(call)(mask), call(mask))
    offsets = torch.tensor([3, 5])
    assert torch.equal(torch.func.vmap(lambda o: decoding_positions(2, o))(offsets), decoding_positions(2, offsets))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize(("call", "make"), CALLS.values(), ids=CALLS)
def test_the_gpu_has_the_values_of_the_cpu(call, make):
    arguments = arguments_of(make, 40)
    there = [one.cuda() if isinstance(one, torch.Tensor) else one for one in arguments]
    torch.cuda.set_sync_debug_mode("error")
    try:
        made = call(*there)
    finally:
        torch.cuda.set_sync_debug_mode("default")

    assert torch.equal(made.cpu(), call(*arguments))

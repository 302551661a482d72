"""The layer under torch.compile, torch.export, AOTInductor and ONNX Runtime."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch.export import Dim, export

import posenc

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
# Beyond the table of 32 rows, beyond every vector of a compiler, and the lengths at which int64 products that wrap
# go wrong under Inductor.
LENGTHS = (2, 17, 33, 100, 700)
# Units in the last place just below 1.
UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


class AtPositions(nn.Module):
    """The layer with positions as an input of the graph."""

    def __init__(self, dim, **options):
        super().__init__()
        self.encoding = posenc.PositionalEncoding(dim, 0.0, max_len=32, **options)

    def forward(self, x, positions):
        return self.encoding(x, positions=positions)


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def test_two_graphs_for_lengths_1_to_64():
    layer = posenc.PositionalEncoding(16)
    counter = CompileCounter()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)

    for length in range(1, 65):
        compiled(torch.zeros(2, length, 16))

    assert counter.frame_count <= 2


@pytest.mark.parametrize(
    "arguments",
    [
        lambda n: {"positions": torch.arange(n) * 1000},
        lambda n: {"positions": torch.arange(2 * n).view(2, n) * 0.5},
        lambda n: {"offset": torch.tensor(n)},
        lambda n: {"offset": torch.tensor([n, 1])},
        lambda _: {"offset": 10_000},
        lambda n: {"padding_mask": torch.zeros(2, n) > 0},
    ],
    ids=["positions", "fractions", "offset tensor", "offset per row", "far offset", "padding"],
)
def test_two_graphs_after_the_first_for_every_argument(arguments):
    layer = posenc.PositionalEncoding(16).eval()
    counter = CompileCounter()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)

    for length in (3, 7, 9, 20, 31, 2):
        x = torch.randn(2, length, 16)
        assert torch.equal(compiled(x, **arguments(length)), layer(x, **arguments(length)))

    # The first length is compiled for itself, the second one for all.
    assert counter.frame_count <= 2


def test_offset_tensor_changed_in_place_is_read_again():
    layer = posenc.PositionalEncoding(16).eval()
    counter = CompileCounter()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)
    x, offset = torch.zeros(1, 1, 16), torch.tensor(3)

    compiled(x, offset=offset)
    offset.fill_(9000)

    assert torch.equal(compiled(x, offset=offset)[0, 0], posenc.encode(9000, 16))
    assert counter.frame_count == 1


def test_position_that_is_not_finite_gives_nan_in_a_graph():
    layer = posenc.PositionalEncoding(16).eval()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    positions = torch.tensor([0.0, torch.nan, torch.inf, 1.5])

    got = compiled(torch.zeros(1, 4, 16), positions=positions)[0]

    assert got[1:3].isnan().all()
    assert torch.equal(got[[0, 3]], posenc.encode([0.0, 1.5], 16))


@pytest.mark.parametrize(
    "call",
    [
        lambda p: posenc.encode(p, 16) * 2,
        lambda p: posenc.encode(p * 0.5, 16, "fairseq", dtype=torch.float16),
        # A convention that the traced function itself makes.
        lambda p: posenc.encode(p, 16, posenc.Convention(base=500)),
        lambda p: posenc.table(40, 16, start=p.shape[0]),
        lambda p: posenc.shift(torch.ones(5, 16), p),
        lambda p: posenc.shift(torch.ones(5, 16) * p[1], 3, posenc.Convention(layout="halves")),
        lambda p: posenc.similarity(p, 16),
        lambda p: posenc.shift_matrix(3, 16) + p[1],
    ],
    ids=["encode", "fractions", "convention", "table", "shift", "shift by one", "similarity", "matrix"],
)
def test_functions_in_one_graph_and_without_a_warning(call):
    p = torch.arange(5)

    assert torch.equal(torch.compile(call, backend="aot_eager", fullgraph=True)(p), call(p))


@pytest.mark.parametrize("dtype", FLOATS)
def test_export_runs_at_any_length_and_equals_eager(dtype):
    layer = posenc.PositionalEncoding(16, max_len=32, dtype=dtype).eval()
    x = torch.randn(2, 10, 16, dtype=dtype)

    program = export(layer, (x,), dynamic_shapes={"x": {0: Dim("b", min=1), 1: Dim("s", min=1)}}).module()

    for length in (1, 2, 32, 33, 5000):
        x = torch.randn(3, length, 16, dtype=dtype)
        # None of these values lies within the error bound of a rounding boundary.
        assert torch.equal(program(x), layer(x))


def test_export_with_positions_and_offset():
    layer = AtPositions(16).eval()
    s = Dim("s", min=2)
    program = export(
        layer, (torch.zeros(1, 5, 16), torch.arange(5)), dynamic_shapes={"x": {1: s}, "positions": {0: s}}
    ).module()

    positions = torch.tensor([0, 31, 32, -7, 2**62, -(2**63), 2**63 - 1])
    assert torch.equal(program(torch.zeros(1, 7, 16), positions)[0], posenc.encode(positions, 16))


def test_exported_program_saves_small_and_loads(tmp_path):
    layer = posenc.PositionalEncoding(64, max_len=8).eval()
    program = export(layer, (torch.zeros(1, 5, 64),), dynamic_shapes={"x": {1: Dim("s", min=1)}})

    torch.export.save(program, tmp_path / "layer.pt2")
    loaded = torch.export.load(tmp_path / "layer.pt2").module()

    assert torch.equal(loaded(torch.zeros(1, 99, 64))[0], posenc.table(99, 64))


def check(call, at_positions, dim, dtype, units):
    """Lengths and positions through compiled code against eager: dtype equal, at most `units` apart."""
    generator = torch.Generator().manual_seed(dim)
    for length in LENGTHS:
        x = torch.zeros(1, length, dim, dtype=dtype)
        positions = torch.randint(-(2**62), 2**62, (length,), generator=generator)
        pairs = (
            (call(x), posenc.table(length, dim, dtype=dtype)),
            (at_positions(x, positions), posenc.encode(positions, dim, dtype=dtype)),
        )
        for got, wanted in pairs:
            assert got.dtype == dtype
            assert (got[0].double() - wanted.double()).abs().max() <= units * UNIT[dtype]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dim", "dtype"),
    [(4, torch.float32), (8, torch.float32), (16, torch.float32), *((64, dtype) for dtype in FLOATS)],
)
def test_inductor_equals_eager_within_one_unit(dim, dtype):
    layer = posenc.PositionalEncoding(dim, max_len=32, dtype=dtype).eval()

    check(
        torch.compile(layer, fullgraph=True, dynamic=True),
        torch.compile(AtPositions(dim, dtype=dtype).eval(), fullgraph=True, dynamic=True),
        dim,
        dtype,
        # float64 is promised to 1e-15, nine units just below 1; the others to one.
        9 if dtype == torch.float64 else 1,
    )


def exported(dim, dtype):
    s = Dim("s", min=2)
    x = torch.zeros(1, 20, dim, dtype=dtype)
    layer = posenc.PositionalEncoding(dim, max_len=32, dtype=dtype).eval()
    return (
        export(layer, (x,), dynamic_shapes={"x": {1: s}}),
        export(
            AtPositions(dim, dtype=dtype).eval(),
            (x, torch.arange(20)),
            dynamic_shapes={"x": {1: s}, "positions": {0: s}},
        ),
    )


# Inductor is tried at all widths above; elsewhere those between the ends take the same way.
BETWEEN = [pytest.param(dim, marks=pytest.mark.exhaustive) for dim in (8, 16)]


@pytest.mark.slow
@pytest.mark.parametrize("dim", [4, *BETWEEN, 64])
def test_aotinductor_equals_eager_within_one_unit(dim, tmp_path):
    calls = []
    for number, program in enumerate(exported(dim, torch.float32)):
        path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / f"{number}.pt2"))
        calls.append(torch._inductor.aoti_load_package(path))

    check(*calls, dim, torch.float32, 1)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [4, *BETWEEN, 64])
def test_onnx_runtime_equals_eager(dim, tmp_path):
    check_onnx_runtime(dim, torch.float32, tmp_path)


@pytest.mark.slow
def test_onnx_runtime_equals_eager_in_float16(tmp_path):
    check_onnx_runtime(64, torch.float16, tmp_path)


def check_onnx_runtime(dim, dtype, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="the ONNX exporter of torch needs onnxscript")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    calls = []
    for number, program in enumerate(exported(dim, dtype)):
        path = tmp_path / f"{number}.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own, about its own internals
            torch.onnx.export(program, dynamo=True, verbose=False).save(str(path))
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

        def call(*inputs, session=session):
            names = [one.name for one in session.get_inputs()]
            return torch.from_numpy(session.run(None, dict(zip(names, (i.numpy() for i in inputs), strict=True)))[0])

        calls.append(call)

    # The exporter writes constants as float32: 5e-7, and one unit of the dtype.
    check(*calls, dim, dtype, 1 + 5e-7 / UNIT[dtype])

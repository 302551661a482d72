"""Rotary embeddings under torch.compile, torch.export and ONNX Runtime: equal to eager."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch._dynamo.exc import Unsupported
from torch._dynamo.testing import CompileCounter
from torch.export import Dim, export

from posenc import Convention, RotaryEmbedding, conventions, rotate

pytestmark = pytest.mark.slow

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 8}
LONGROPE = {
    "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 8,
    "short_factor": [1.0] * 8, "long_factor": [2.0] * 8,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
# A name, what is built, and what it is called with at a length.
CASES = {
    "plain": (RotaryEmbedding(16), lambda _: {}),
    "interleaved part": (RotaryEmbedding(16, layout="interleaved", rotary_dim=8), lambda _: {}),
    "sequence first": (RotaryEmbedding(16, seq_dim=-3), lambda _: {}),
    "positions": (RotaryEmbedding(16), lambda n: {"positions": torch.arange(n) * 10**6}),
    "positions of rows": (RotaryEmbedding(16), lambda n: {"positions": torch.arange(2 * n).view(2, n) - 7}),
    "fractions": (RotaryEmbedding(16), lambda n: {"positions": torch.arange(n) * 0.5}),
    "offset": (RotaryEmbedding(16), lambda n: {"offset": 10 * n}),
    "offset tensor": (RotaryEmbedding(16), lambda n: {"offset": torch.tensor(n)}),
    "offset of rows": (RotaryEmbedding(16), lambda n: {"offset": torch.tensor([n, -1])}),
    "yarn": (RotaryEmbedding(16, scaling=YARN), lambda _: {}),
    "dynamic, fixed": (RotaryEmbedding(16, scaling=DYNAMIC), lambda _: {"length": 700}),
    "sections": (RotaryEmbedding(16, sections=(2, 3, 3)), lambda _: {}),
    "sections with positions of rows": (
        RotaryEmbedding(16, sections=(2, 3, 3)),
        lambda n: {"positions": torch.arange(6 * n).view(2, n, 3)},
    ),
    "axes": (RotaryEmbedding(16, "timm-axial-2d-half"), lambda n: {"positions": torch.arange(2 * n).view(n, 2)}),
}


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def heads(rotary, length, batch=2, dtype=torch.float32):
    """A query and a key with fewer heads."""
    shapes = [(batch, count, length, rotary.dim) for count in (4, 2)]
    if rotary.seq_dim == -3:
        shapes = [(batch, length, count, rotary.dim) for count in (4, 2)]
    return [torch.randn(shape).to(dtype) for shape in shapes]


def assert_same(got, expected):
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


# ---- torch.compile -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_one_graph_for_all_lengths_after_the_first(case):
    rotary, options = CASES[case]
    counter = CompileCounter()
    compiled = torch.compile(rotary, backend=counter, fullgraph=True)
    for length in (3, 7, 9, 20, 31):
        q, k = heads(rotary, length)
        assert_same(compiled(q, k, **options(length)), rotary(q, k, **options(length)))

    assert counter.frame_count <= 2


# Every dtype and every layout; a dtype decides how values are computed, a layout where they are.
PAIRS = [*(("halves", dtype) for dtype in FLOATS), *(("interleaved", dtype) for dtype in FLOATS[1:3])]
PAIRS += [pytest.param("interleaved", dtype, marks=pytest.mark.exhaustive) for dtype in (FLOATS[0], FLOATS[3])]


@pytest.mark.parametrize(("layout", "dtype"), PAIRS, ids=str)
def test_inductor(dtype, layout):
    rotary = RotaryEmbedding(64, layout=layout)
    compiled = torch.compile(rotary, fullgraph=True)
    for length in (5, 300, 1023):
        q, k = heads(rotary, length, dtype=dtype)
        for got, expected in zip(compiled(q, k, offset=2**31), rotary(q, k, offset=2**31), strict=True):
            assert got.dtype == dtype
            if dtype in (torch.float32, torch.float64):
                # Cosine and sine may be a unit away where float64 cannot decide their rounding; queries are below 6.
                assert (got - expected).abs().max() <= 12 * torch.finfo(dtype).eps
            else:
                # A dtype of few bits hides that nearly always.
                assert (got != expected).sum() <= 2


def test_inductor_with_everything():
    rotary = RotaryEmbedding(32, scaling={**YARN, "partial_rotary_factor": 0.5})
    compiled = torch.compile(rotary, fullgraph=True)
    for length in (6, 200):
        q, k = heads(rotary, length)
        positions = torch.randint(0, 10**9, (2, length))
        made, expected = compiled(q[:, :, -3:], k, positions=positions), rotary(q[:, :, -3:], k, positions=positions)
        assert all((a - b).abs().max() <= 2.0**-20 for a, b in zip(made, expected, strict=True))
        assert torch.equal(made[1][..., 16:], k[..., 16:])


def test_gradients_of_a_graph():
    rotary = RotaryEmbedding(16)
    compiled = torch.compile(rotary, backend="aot_eager", fullgraph=True)
    q, k = (x.requires_grad_() for x in heads(rotary, 9))
    upstream = torch.randn_like(q)
    got, expected = (torch.autograd.grad(run(q, k)[0], q, upstream)[0] for run in (compiled, rotary))

    assert torch.equal(got, expected)


@pytest.mark.parametrize("scaling", [DYNAMIC, LONGROPE], ids=["dynamic", "longrope"])
def test_frequencies_that_depend_on_the_length(scaling):
    rotary = RotaryEmbedding(16, scaling=scaling)
    compiled = torch.compile(rotary, backend="aot_eager", fullgraph=True)
    for length in (3, 7, 20, 30, 4):
        q, k = heads(rotary, length)
        assert_same(compiled(q, k), rotary(q, k))


def test_longrope_makes_a_graph_for_short_and_for_long():
    rotary = RotaryEmbedding(16, scaling=LONGROPE)
    counter = CompileCounter()
    compiled = torch.compile(rotary, backend=counter, fullgraph=True)
    for length in (3, 5, 6, 20, 30, 40, 7):
        compiled(*heads(rotary, length))

    assert counter.frame_count <= 3


def test_the_function_in_a_graph():
    x, p = torch.randn(2, 5, 8), torch.arange(5) * 10**6
    for rule in ("gptj-rotary", Convention(layout="halves", base=500)):
        compiled = torch.compile(lambda x, p, rule=rule: rotate(x * 2, p, rule), backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(x, p), rotate(x * 2, p, rule))


def test_released_arithmetic_is_for_eager_mode():
    rotary = RotaryEmbedding(16, conventions["llama"].as_released())
    with pytest.raises(Unsupported):
        torch.compile(rotary, backend="aot_eager", fullgraph=True)(*heads(rotary, 3))


# ---- torch.export --------------------------------------------------------------------------------------------------

BATCH, LENGTH = Dim("batch", max=64), Dim("length", max=4096)


def dynamic_shapes(rotary, options):
    """Batch and length left open."""
    axis = 1 if rotary.seq_dim == -3 else 2
    shapes = {"q": {0: BATCH, axis: LENGTH}, "k": {0: BATCH, axis: LENGTH}}
    for name, value in options.items():
        axes = value.ndim - (rotary._rotation.axes > 1) if isinstance(value, torch.Tensor) else 0
        shapes[name] = [None, {0: LENGTH}, {0: BATCH, 1: LENGTH}][axes] if name == "positions" else None
        if name == "offset" and axes:
            shapes[name] = {0: BATCH}
    return shapes


# A strict export is Dynamo's graph, which is tried with every case above, and then a plain export.
STRICT = [(case, True) for case in ("plain", "positions of rows", "offset of rows", "yarn", "axes")]
MORE = [pytest.param(case, True, marks=pytest.mark.exhaustive) for case in CASES if (case, True) not in STRICT]


@pytest.mark.parametrize(("case", "strict"), [*((case, False) for case in CASES), *STRICT, *MORE])
def test_any_batch_and_length_after_export(case, strict):
    rotary, options = CASES[case]
    if case == "offset":
        options = lambda _: {"offset": 70}  # noqa: E731 - a constant of the program
    given = options(5)
    program = export(rotary, (*heads(rotary, 5),), given, dynamic_shapes=dynamic_shapes(rotary, given), strict=strict)
    for batch, length in ((2, 33), (2 if "rows" in case else 7, 5), (2, 700)):
        q, k = heads(rotary, length, batch)
        assert_same(program.module()(q, k, **options(length)), rotary(q, k, **options(length)))


def test_onnx_runtime_at_another_length():
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="the ONNX exporter of torch needs onnxscript")
    rotary = RotaryEmbedding(16)
    length = Dim("length", max=4096)
    shapes = {"q": {2: length}, "k": {2: length}}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its own internals
        made = torch.onnx.export(rotary, (*heads(rotary, 5),), dynamo=True, verbose=False, dynamic_shapes=shapes)
    session = runtime.InferenceSession(made.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for count in (2, 19, 3000):
        q, k = heads(rotary, count)
        names = [one.name for one in session.get_inputs()]
        got = session.run(None, {names[0]: q.numpy(), names[1]: k.numpy()})
        for one, expected in zip(got, rotary(q, k), strict=True):
            # The exporter writes constants as float32: cosine and sine are off by 5e-7, numbers below 6 times that.
            assert (torch.from_numpy(one) - expected).abs().max() <= 2 * 6 * 5e-7

"""The trained table and the biases inside torch.compile, torch.export and ONNX Runtime, and what all biases refuse."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch._subclasses import FakeTensorMode
from torch.export import Dim, export

from posenc import AlibiBias, LearnedPositionalEmbedding, RelativePositionBias
from posenc.errors import InputError, PosencError

BIASES = {
    "alibi": lambda: AlibiBias(12),
    "alibi past-nearer": lambda: AlibiBias(12, form="past-nearer", future="masked", dtype=torch.bfloat16),
    "alibi keys": lambda: AlibiBias(12, form="keys", dtype=torch.float16),
    "alibi keys-from-end": lambda: AlibiBias(3, form="keys-from-end", future="masked"),
    "t5": lambda: RelativePositionBias(4, trained_length=1000),
    "t5 causal": lambda: RelativePositionBias(4, direction="causal", future="masked"),
}
CALLS = {
    "lengths": lambda _: {},
    "offset": lambda n: {"offset": n},
    "offset tensor": lambda n: {"offset": torch.tensor(n)},
    "offset per row": lambda n: {"offset": torch.tensor([n, 1])},
    "keys": lambda n: {"key_positions": torch.arange(2 * n + 6).view(2, n + 3)},
    "queries": lambda n: {"query_positions": torch.arange(n).flip(0), "offset": 2},
}


class Scores(nn.Module):
    """Adds the bias to scores (..., heads, Q, K)."""

    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, scores, keys=None):
        return scores + self.bias(scores.shape[-2], scores.shape[-1], key_positions=keys)


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


# Every bias, every call; not every pair of them, which would take minutes.
PAIRS = [*((name, call) for name in ("alibi past-nearer", "t5 causal") for call in CALLS)]
PAIRS += [(name, "keys") for name in BIASES if (name, "keys") not in PAIRS]


@pytest.mark.parametrize(("name", "call"), PAIRS)
def test_biases_in_two_graphs_for_all_lengths(name, call):
    bias, call = BIASES[name](), CALLS[call]
    counter = CompileCounter()
    compiled = torch.compile(bias, backend=counter, fullgraph=True)

    for n in (3, 7, 20, 2):
        got, wanted = compiled(n, n + 3, **call(n)), bias(n, n + 3, **call(n))
        assert got.dtype == wanted.dtype
        assert torch.equal(got, wanted)
    # The first length is compiled for itself, the second one for all.
    assert counter.frame_count <= 2


@pytest.mark.parametrize("make", BIASES.values(), ids=BIASES)
def test_exported_biases_run_at_any_length(make):
    bias = Scores(make())
    heads = bias.bias.num_heads
    q, k = Dim("q", min=1), Dim("k", min=1)
    square = export(bias, (torch.zeros(2, heads, 5, 5),), dynamic_shapes={"scores": {0: Dim("b"), 2: q, 3: q}}).module()
    placed = export(
        bias,
        (torch.zeros(2, heads, 5, 5), torch.arange(10).view(2, 5)),
        dynamic_shapes={"scores": {2: k, 3: k}, "keys": {1: k}},
    ).module()

    for n in (1, 2, 33, 300):
        scores, keys = torch.zeros(3, heads, n, n), torch.randint(0, 2 * n, (2, n))
        assert torch.equal(square(scores), bias(scores))
        assert torch.equal(placed(scores[:2], keys), bias(scores[:2], keys))


@pytest.mark.parametrize("options", [{}, {"position_offset": 2, "batch_first": False}])
def test_the_table_in_two_graphs(options):
    layer = LearnedPositionalEmbedding(64, 8, **options).eval()
    counter = CompileCounter()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)
    for length in range(1, 65):
        x = torch.randn(length, length, 8)
        assert torch.equal(compiled(x), layer(x))
    assert counter.frame_count <= 2

    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = torch.randn(5, 5, 8)
    for arguments in (
        {"positions": torch.tensor([3, 1, 0, 63, 2])},
        {"positions": torch.arange(25).view(5, 5), "padding_mask": torch.rand(5, 5) > 0.5},
        {"offset": 17},
        {"offset": torch.arange(5)},
    ):
        assert torch.equal(compiled(x, **arguments), layer(x, **arguments))


def test_the_end_of_the_table_in_a_graph():
    layer = LearnedPositionalEmbedding(8, 4).eval()

    with pytest.raises(torch._dynamo.exc.Unsupported, match="got positions from 0 to 8, but wanted positions from 0"):
        torch.compile(layer, backend="eager", fullgraph=True)(torch.zeros(1, 9, 4))
    torch._dynamo.reset()
    with pytest.raises(InputError, match="got positions from 0 to 8"):
        torch.compile(layer, backend="eager")(torch.zeros(1, 9, 4))
    program = export(layer, (torch.zeros(1, 5, 4),), dynamic_shapes={"x": {1: Dim("s", min=1)}}).module()
    x = torch.randn(1, 8, 4)
    assert torch.equal(program(x), layer(x))
    # No length is looked at in a program: there the error is the embedding's.
    with pytest.raises(IndexError, match="index out of range"):
        program(torch.zeros(1, 9, 4))


def test_no_tensor_of_a_tracer_is_kept():
    # Numbers that no other test has asked for.
    makers = (lambda: AlibiBias(37), lambda: RelativePositionBias(2, 10, 77, std=0))
    with FakeTensorMode():
        for make in makers:
            make()(3, 4)

    for make in makers:
        assert type(make()(3, 4).detach()) is torch.Tensor
        assert make()(3, 4).isfinite().all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alibi past-nearer", "t5 causal"])
def test_inductor_equals_eager(name):
    bias = BIASES[name]()
    compiled = torch.compile(bias, fullgraph=True, dynamic=True)

    for n in (2, 17, 33, 100):
        for call in (CALLS["lengths"], CALLS["keys"]):
            assert torch.equal(compiled(n, n + 3, **call(n)), bias(n, n + 3, **call(n)))


@pytest.mark.slow
def test_training_under_inductor():
    layer, bias = LearnedPositionalEmbedding(64, 8), RelativePositionBias(4, dtype=torch.float64)
    x, scores = torch.randn(2, 9, 8), torch.randn(2, 4, 9, 9, dtype=torch.float64)
    for module, given in ((layer.eval(), x), (Scores(bias), scores)):
        grads = []
        for call in (module, torch.compile(module, fullgraph=True)):
            module.zero_grad()
            call(given).square().sum().backward()
            grads.append(next(module.parameters()).grad.clone())
        # Sums of at most 162 squares' slopes, in another order.
        assert (grads[0] - grads[1]).abs().max() <= 162 * torch.finfo(given.dtype).eps * grads[0].abs().max()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alibi", "alibi keys", "t5", "t5 causal", "table"])
def test_onnx_runtime_equals_eager(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="the ONNX exporter of torch needs onnxscript")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    s = Dim("s", min=2)
    if name == "table":
        module, given, shapes = LearnedPositionalEmbedding(64, 8).eval(), torch.zeros(2, 5, 8), {"x": {1: s}}
    else:
        module = Scores(BIASES[name]())
        given, shapes = torch.zeros(2, module.bias.num_heads, 5, 5), {"scores": {2: s, 3: s}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its own internals
        program = export(module, (given,), dynamic_shapes=shapes)
        torch.onnx.export(program, dynamo=True, verbose=False).save(str(tmp_path / "module.onnx"))
    session = runtime.InferenceSession(str(tmp_path / "module.onnx"), providers=["CPUExecutionProvider"])

    for n in (2, 9, 50):
        x = torch.randn(2, n, 8) if name == "table" else torch.randn(2, given.shape[1], n, n)
        got = torch.from_numpy(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])
        wanted = module(x).detach()
        # The exporter writes constants, the slopes among them, as float32.
        away = torch.where(got == wanted, 0, (got - wanted).abs())
        assert (away <= 2.0**-22 * torch.where(wanted.isfinite(), 1 + wanted.abs(), 1)).all()


BAD_CALLS = {
    "query_length=-1": {"query_length": -1},
    "query_length=2.0": {"query_length": 2.0},
    "query_length=True": {"query_length": True},
    "key_length=None": {"key_length": None},
    "query_length=4 and key_length=3": {"query_length": 4},
    "positions of shape (1999999999999999,)": {"query_length": 10**15, "key_length": 10**15},
    "queries and keys whose distance": {"offset": 2**63 - 1},
    "queries and keys whose distance int64": {"key_positions": torch.tensor([-(2**63), 0, 2**63 - 1])},
    "offset=1.5": {"offset": 1.5},
    "offset of torch.float32": {"offset": torch.tensor([0.5])},
    "offset on meta": {"offset": torch.tensor(1, device="meta")},
    "key_positions of shape": {"key_positions": torch.zeros(2)},
    "key_positions of shape ()": {"key_positions": torch.tensor(1)},
    "key_positions of type list": {"key_positions": [1, 2, 3]},
    "key_positions of layout torch.sparse_coo": {"key_positions": torch.arange(3).to_sparse()},
    "key_positions of torch.bool": {"key_positions": torch.ones(3) > 0},
    "key_positions with a value that is NaN": {"key_positions": torch.tensor([0, 1, torch.nan])},
    "query_positions on meta": {"query_positions": torch.zeros(2, device="meta")},
    "queries of leading shape (3,) and keys of (2,)": {
        "query_positions": torch.zeros(3, 2).long(),
        "key_positions": torch.zeros(2, 3).long(),
    },
}


@pytest.mark.parametrize(("said", "options"), BAD_CALLS.items(), ids=BAD_CALLS)
@pytest.mark.parametrize("bias", [AlibiBias(2), RelativePositionBias(2)], ids=["alibi", "t5"])
def test_what_a_bias_is_not_called_with(bias, said, options):
    with pytest.raises(PosencError) as caught:
        bias(**{"query_length": 2, "key_length": 3, **options})

    assert str(caught.value).startswith(f"got {said}")
    assert ", but wanted " in str(caught.value)
    assert str(caught.value).endswith(".")

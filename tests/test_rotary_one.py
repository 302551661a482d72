"""`RotaryEmbedding.rotate`: one tensor, turned as `forward` turns it, for cross-attention and caches."""

from __future__ import annotations

import math
import re

import pytest
import torch
from tests.rotations import by_hand
from tests.scalings import DYNAMIC, LLAMA3, LONGROPE, YARN
from torch import nn
from torch._dynamo.testing import CompileCounter

import posenc
from posenc import RotaryEmbedding
from posenc.errors import DtypeError, InputError, PosencError

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
X = torch.zeros(2, 3, 5, 8)
# A name, what is built, and what a call on so many positions takes.
CASES = {
    "plain": (RotaryEmbedding(8), lambda _: {}),
    "interleaved part": (RotaryEmbedding(8, layout="interleaved", rotary_dim=4), lambda _: {}),
    "sequence first": (RotaryEmbedding(8, seq_dim=-3), lambda _: {}),
    "yarn": (RotaryEmbedding(8, scaling=YARN), lambda _: {}),
    "llama3": (RotaryEmbedding(8, scaling=LLAMA3), lambda _: {}),
    "longrope": (RotaryEmbedding(8, scaling=LONGROPE), lambda n: {"length": n + 3}),
    "dynamic": (RotaryEmbedding(8, scaling=DYNAMIC), lambda n: {"length": n + 3}),
    "offset": (RotaryEmbedding(8, scaling=YARN), lambda _: {"offset": 2**40}),
    "offset of rows": (RotaryEmbedding(8), lambda _: {"offset": torch.tensor([3, -4])}),
    "positions": (RotaryEmbedding(8, scaling=YARN), lambda n: {"positions": torch.arange(n) * 7 - 3}),
    "fractions of rows": (RotaryEmbedding(8), lambda n: {"positions": torch.arange(2 * n).view(2, n) / 4}),
    "sections": (RotaryEmbedding(8, sections=(1, 3)), lambda n: {"positions": torch.arange(2 * n).view(n, 2)}),
    "axes": (RotaryEmbedding(8, "timm-axial-2d-half"), lambda n: {"positions": torch.arange(2 * n).view(n, 2)}),
}


def heads(rotary: RotaryEmbedding, length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    shape = (2, length, 3, rotary.dim) if rotary.seq_dim == -3 else (2, 3, length, rotary.dim)
    return torch.randn(shape, dtype=torch.float64).to(dtype)


# ---- the same as forward -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("length", [1, 9, 3000])
@pytest.mark.parametrize("case", CASES)
def test_each_side_is_what_forward_gives(case, length, dtype):
    rotary, options = CASES[case]
    q, k = heads(rotary, length, dtype), heads(rotary, length, dtype)
    before = q.clone()
    made_q, made_k = rotary(q, k, **options(length))

    assert torch.equal(rotary.rotate(q, **options(length)), made_q)
    assert torch.equal(rotary.rotate(k, **options(length)), made_k)
    assert torch.equal(q, before)
    assert made_q.dtype == dtype


@pytest.mark.parametrize("scaling", [YARN, LONGROPE], ids=["yarn", "longrope"])
def test_cross_attention_keeps_the_scaling_and_its_factor(scaling):
    # 11 queries of a decoder for 5 tokens of an encoder, which forward refuses.
    rotary = RotaryEmbedding(8, scaling=scaling)
    q, k = torch.randn(2, 3, 11, 8, dtype=torch.float64), torch.randn(2, 3, 5, 8, dtype=torch.float64)
    where, length = torch.arange(11) * 0.5, 11
    padded = torch.cat([k, torch.zeros(2, 3, 6, 8, dtype=torch.float64)], 2)
    turned_q = rotary.rotate(q, positions=where, length=length)
    turned_k = rotary.rotate(k, length=length)

    assert torch.equal(turned_q, rotary(q, padded, positions=where, length=length)[0])
    assert torch.equal(turned_k, rotary(padded, padded, length=length)[1][:, :, :5])
    assert rotary.attention_factor > 1.1
    factor = turned_k.norm(dim=-1) / k.norm(dim=-1)
    assert (factor - rotary.attention_factor).abs().max() < 1e-12
    # By hand: pair 0 of both rules is not scaled, and turns by its position.
    one = torch.zeros(1, 1, 8, dtype=torch.float64)
    one[..., 0] = 1
    made = rotary.rotate(one, positions=[2.5], length=4)[0, 0]
    assert made[0].item() == pytest.approx(math.cos(2.5) * rotary.attention_factor, abs=1e-15)
    assert made[4].item() == pytest.approx(math.sin(2.5) * rotary.attention_factor, abs=1e-15)


def test_without_scaling_it_is_the_function():
    rotary, x = RotaryEmbedding(8, base=500), torch.randn(2, 3, 7, 8)
    places = torch.randint(0, 10**6, (2, 7))

    assert torch.equal(rotary.rotate(x, positions=places), posenc.rotate(x, places, rotary.convention))
    assert (rotary.rotate(x) - by_hand(x, torch.arange(7), base=500)).abs().max() < 1e-6


@pytest.mark.parametrize("case", ["plain", "yarn", "longrope", "dynamic", "sequence first"])
def test_pieces_are_the_whole(case):
    rotary, options = CASES[case]
    x, axis = heads(rotary, 600), 1 if rotary.seq_dim == -3 else 2
    whole = rotary.rotate(x, **options(600))
    for size in (1, 7, 250):
        parts = [rotary.rotate(part, offset=size * i, **options(600)) for i, part in enumerate(x.split(size, axis))]
        assert torch.equal(torch.cat(parts, axis), whole)


def test_queries_shorter_than_the_keys_take_the_offset_of_the_caller():
    rotary, x = RotaryEmbedding(8, scaling=YARN), torch.randn(2, 3, 40, 8)
    q, k = rotary(x[:, :, -4:], x)

    assert torch.equal(rotary.rotate(x[:, :, -4:], offset=36), q)
    assert torch.equal(rotary.rotate(x), k)


# ---- chunks of one sequence ----------------------------------------------------------------------------------------


def test_chunks_of_longrope_do_not_meet_with_two_ladders():
    # B187: trained on 4 positions, beyond which the first pair turns by a quarter: at position 1, cos 1/4 - sin 1/4.
    scaling = {"rope_type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [4.0, 4.0],
               "original_max_position_embeddings": 4, "attention_factor": 1.0}  # fmt: skip
    rotary, k = RotaryEmbedding(4, scaling=scaling), torch.ones(1, 1, 6, 4)
    whole = rotary(k, k)[1]
    chunks = [k[:, :, i : i + 2] for i in (0, 2, 4)]

    assert abs(whole[0, 0, 1, 0] - (math.cos(1 / 4) - math.sin(1 / 4))) < 1e-7
    for call in (lambda x, **more: rotary(x, x, **more)[1], rotary.rotate):
        with pytest.raises(InputError, match=r"longrope scaling with an offset and no length.*; pass length="):
            call(chunks[1], offset=2)
        pinned = [call(chunk, offset=2 * i, length=6) for i, chunk in enumerate(chunks)]
        assert torch.equal(torch.cat(pinned, 2), whole)


def test_chunks_of_dynamic_scaling_do_not_meet_with_two_ladders():
    rotary, k = RotaryEmbedding(8, scaling=DYNAMIC), torch.ones(1, 1, 32, 8)
    with pytest.raises(InputError, match="dynamic scaling with an offset and no length"):
        rotary(k[:, :, 16:], k[:, :, 16:], offset=16)
    halves = [rotary.rotate(k[:, :, i : i + 16], offset=i, length=32) for i in (0, 16)]
    # The base grows to 10000 (4 * 32 / 8 - 3)^(4 / 3).
    assert (torch.cat(halves, 2) - by_hand(k, torch.arange(32), base=10000 * 13 ** (4 / 3))).abs().max() < 1e-6


# ---- graphs, gradients, transforms ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("case", "dynamic"), [*((case, None) for case in CASES), ("yarn", True), ("longrope", True)])
def test_compiled(case, dynamic):
    torch._dynamo.reset()
    rotary, options = CASES[case]
    compiled = torch.compile(rotary.rotate, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for length in (3, 12):
        x = heads(rotary, length)
        assert torch.equal(compiled(x, **options(length)), rotary.rotate(x, **options(length)))


@pytest.mark.slow
def test_one_graph_for_all_lengths_after_the_first():
    torch._dynamo.reset()
    rotary, counter = RotaryEmbedding(8, scaling=YARN), CompileCounter()
    compiled = torch.compile(lambda x, n: rotary.rotate(x, offset=n), backend=counter, fullgraph=True)
    for length in (3, 7, 9, 20, 31):
        x = heads(rotary, length)
        assert torch.equal(compiled(x, 5 * length), rotary.rotate(x, offset=5 * length))
    assert counter.frame_count <= 2


@pytest.mark.parametrize("case", ["plain", "interleaved part", "yarn", "sections"])
def test_the_gradient_is_the_turn_back(case):
    rotary, options = CASES[case]
    x = heads(rotary, 5, torch.float64).requires_grad_()

    assert torch.autograd.gradcheck(lambda x: rotary.rotate(x, **options(5)), x)
    upstream = torch.randn_like(x)
    (grad,) = torch.autograd.grad(rotary.rotate(x, **options(5)), x, upstream)
    # Turned again, that is the upstream times the factor twice, where columns turn.
    again = rotary.rotate(grad, **options(5))
    factor, width = rotary.attention_factor, rotary.rotary_dim
    assert (again[..., :width] - factor**2 * upstream[..., :width]).abs().max() < 1e-13
    assert torch.equal(grad[..., width:], upstream[..., width:])


def test_transforms_and_meta():
    rotary, x = RotaryEmbedding(8, scaling=YARN), torch.randn(4, 3, 5, 8)

    assert torch.equal(torch.func.vmap(rotary.rotate)(x), rotary.rotate(x))
    assert torch.equal(torch.func.jvp(rotary.rotate, (x,), (x,))[1], rotary.rotate(x))
    assert rotary.rotate(x.to("meta")).shape == x.shape


# ---- refusals ------------------------------------------------------------------------------------------------------

REFUSED = [
    (X.long(), {}, DtypeError, "x of torch.int64"),
    (X.to_sparse(), {}, InputError, "x of layout torch.sparse_coo"),
    ([1.0], {}, DtypeError, "x of type list"),
    (None, {}, DtypeError, "x of type NoneType"),
    (X[0, 0, 0], {}, InputError, "seq_dim=-2 for x of shape (8,)"),
    (X[..., :6], {}, InputError, "x of shape (2, 3, 5, 6), but wanted heads of 8 columns"),
    (X, {"positions": torch.arange(4)}, InputError, "positions of shape (4,) for (2, 3, 5, 8)"),
    (X, {"positions": torch.arange(5, device="meta")}, InputError, "positions on meta for a tensor on cpu"),
    (X, {"positions": torch.arange(5.0) / 0}, InputError, "NaN or infinite"),
    (X, {"positions": "\ud800"}, DtypeError, "positions of type str"),
    (X, {"positions": {}}, PosencError, "positions of"),
    (X, {"offset": 1.5}, DtypeError, "offset=1.5 of type float"),
    (X, {"offset": None}, DtypeError, "offset=None"),
    (X, {"offset": [1, 2]}, DtypeError, "offset=[1, 2]"),
    (X, {"offset": float("nan")}, DtypeError, "offset=nan"),
    (X, {"offset": torch.zeros(3, dtype=torch.int64)}, InputError, "offset of shape (3,)"),
    (X, {"offset": 2**63 - 4}, InputError, "offset=9223372036854775804 for 5 tokens"),
    (X, {"offset": 10**400}, InputError, "offset=an int of 1329 bits"),
    (X, {"length": -1}, InputError, "length=-1"),
    (X, {"length": 2.0}, DtypeError, "length=2.0"),
    (X, {"length": torch.tensor([1, 2])}, DtypeError, "length=tensor([1, 2])"),
    (X, {"length": "\ud800"}, DtypeError, "length='\\ud800'"),
]


@pytest.mark.parametrize(("x", "options", "error", "text"), REFUSED)
def test_what_cannot_be_turned_is_refused(x, options, error, text):
    for rotary in (RotaryEmbedding(8), RotaryEmbedding(8, scaling=LONGROPE)):
        with pytest.raises(error, match=re.escape(text)) as caught:
            rotary.rotate(x, **{"length": 9, **options})
        assert re.match(r"^got .+, but wanted .+; .+\.$", str(caught.value), re.DOTALL)


def test_forward_points_here_where_queries_and_keys_do_not_fit():
    for q, k in ((X, X[:, :, :4]), (X[0], X), (X, X[:1])):
        with pytest.raises(InputError, match=r"the module's rotate\(q\) and rotate\(k\)"):
            RotaryEmbedding(8)(q, k)


def test_the_function_refuses_a_module_and_names_its_method():
    advice = r"got rotary of type RotaryEmbedding, but wanted .*; call its own method, module\.rotate\(x, positions="
    with pytest.raises(DtypeError, match=advice):
        posenc.rotate(X, range(5), RotaryEmbedding(8, scaling=YARN))
    with pytest.raises(DtypeError, match=r"got rotary of type Linear, .* build posenc\.RotaryEmbedding"):
        posenc.rotate(X, range(5), nn.Linear(2, 2))

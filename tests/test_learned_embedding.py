"""LearnedPositionalEmbedding: nn.Embedding of positions done right, its end, its checkpoints and its resizing."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
from torch import nn
from torch.distributed.tensor import Shard, distribute_tensor

import posenc
from posenc import Convention, LearnedPositionalEmbedding
from posenc.errors import DtypeError, InputError, PosencError

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def layer(max_len=32, d_model=16, dropout=0.0, **options):
    return LearnedPositionalEmbedding(max_len, d_model, dropout, **options)


# ---- the main use --------------------------------------------------------------------------------------------------


def test_is_what_everyone_writes():
    made = LearnedPositionalEmbedding(512, 64).eval()
    x = torch.randn(2, 10, 64)

    assert made.dropout.p == 0.1
    assert made.weight.shape == (512, 64)
    assert torch.equal(made(x), x + nn.functional.embedding(torch.arange(10), made.weight))
    assert (made.train()(x) == 0).any()


@pytest.mark.parametrize("offset", [0, 5])
def test_every_way_of_saying_where(offset):
    made, x = layer(position_offset=2), torch.randn(3, 7, 16)
    weight, rows = made.weight, torch.arange(7) + offset + 2
    turned = layer(batch_first=False, position_offset=2)
    turned.load_state_dict(made.state_dict())
    per_row = torch.tensor([0, 3, 20])
    positions = torch.randint(0, 32, (3, 7))
    mask = torch.rand(3, 7) > 0.5

    assert torch.equal(made(x, offset=offset), x + weight[rows])
    assert torch.equal(made(x[0], offset=offset), x[0] + weight[rows])
    for options, wanted in (
        ({"offset": per_row}, weight[torch.arange(7) + per_row[:, None] + 2]),
        ({"positions": positions[0]}, weight[positions[0] + 2]),
        ({"positions": positions.int()}, weight[positions + 2]),
        ({"positions": positions - per_row[:, None], "offset": per_row}, weight[positions + 2]),
        ({"padding_mask": mask}, weight[torch.arange(7) + 2] * ~mask[..., None]),
        ({"positions": positions * 0 - 2}, weight[0]),
    ):
        assert torch.equal(made(x, **options), x + wanted)
        assert torch.equal(turned(x.transpose(0, 1), **options), made(x, **options).transpose(0, 1))
    assert torch.equal(made(x[:, None], positions=positions[:, None]), x[:, None] + weight[positions + 2][:, None])


def test_pieces_equal_the_whole():
    made, x = layer(), torch.randn(2, 20, 16)

    pieces = [made(part, offset=start) for start, part in ((0, x[:, :7]), (7, x[:, 7:8]), (8, x[:, 8:]))]

    assert torch.equal(torch.cat(pieces, 1), made(x))


@pytest.mark.parametrize("mine", FLOATS)
@pytest.mark.parametrize("given", FLOATS)
def test_sum_in_the_wider_and_rounded_once(mine, given):
    made, x = layer(dtype=mine), torch.randn(2, 5, 16, dtype=torch.float64).to(given)
    wide = torch.promote_types(mine, given)
    before = x.clone()

    got = made(x)

    assert got.dtype == given
    assert torch.equal(x, before)
    if not (wide == torch.float64 and given in (torch.bfloat16, torch.float16)):
        assert torch.equal(got, (x.to(wide) + made.weight[:5].to(wide)).to(given))


def test_ties_go_to_even():
    made = layer(dtype=torch.float64, max_len=4, d_model=4)
    with torch.no_grad():
        made.weight[:] = torch.tensor([1.0, 1.0, -1.0, 1 + 2.0**-40], dtype=torch.float64).unsqueeze(-1)
    # Half a unit of bfloat16 above 1, and three halves.
    x = torch.tensor([2.0**-8, 3 * 2.0**-8, -(2.0**-8), 2.0**-8]).bfloat16()[:, None].expand(4, 4)

    assert made(x)[:, 0].tolist() == [1.0, 1 + 2.0**-6, -1.0, 1 + 2.0**-7]
    infinite = torch.tensor([math.inf, -math.inf, math.nan, 0.0]).bfloat16()
    assert str(made(infinite.expand(1, 4))[0].tolist()[:3]) == "[inf, -inf, nan]"


def test_gradients_reach_the_rows_that_were_used():
    made, x = layer(dtype=torch.float64), torch.randn(2, 3, 16, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[False, False, True], [False, False, True]])
    made(x, padding_mask=mask).sum().backward()
    made(x, positions=torch.tensor([7, 7, 9])).sum().backward()

    used = made.weight.grad[:, 0]
    assert used.nonzero().flatten().tolist() == [0, 1, 7, 9]
    assert used[[0, 1, 7, 9]].tolist() == [2, 2, 4, 2]
    assert torch.equal(x.grad, torch.full_like(x, 2))


# ---- its end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "options", "span"),
    [
        (33, {}, "0 to 32"),
        (1, {"offset": 32}, "32 to 32"),
        (2, {"offset": -3}, "-3 to -2"),
        (2, {"offset": torch.tensor([0, 31])}, "0 to 32"),
        (3, {"positions": torch.tensor([0, -3, 5])}, "-3 to 5"),
        (2, {"positions": torch.tensor([0, 2**63 - 1])}, "0 to 9223372036854775807"),
        (1, {"positions": torch.tensor([30]), "offset": 2}, "32 to 32"),
    ],
)
def test_positions_beyond_it_are_refused_before_any_kernel_runs(length, options, span):
    made = layer(position_offset=2)

    with pytest.raises(InputError, match=f"got positions from {span}, but wanted positions from -2 to 31"):
        made(torch.zeros(2, length, 16), **options)
    assert made(torch.zeros(2, 2, 16), offset=30).shape == (2, 2, 16)
    assert made(torch.zeros(2, 0, 16), offset=99).shape == (2, 0, 16)


def test_the_advice_helps():
    made, x = layer(), torch.zeros(1, 40, 16)
    with pytest.raises(InputError, match=r'max_len=40, or take layer.resize\(40, "draw"\)'):
        made(x)

    assert made.resize(40, "draw")(x).shape == x.shape


def test_there_is_no_row_between_two():
    for dtype in FLOATS:
        with pytest.raises(
            DtypeError, match=r"no row between two others; make positions int64 before any cast, or use Positional"
        ):
            layer()(torch.zeros(1, 2, 16), positions=torch.tensor([0, 1], dtype=dtype))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: layer()(x[..., :8]), "got x of shape"),
        (lambda x: layer()(x.long()), "got x of torch.int64"),
        (lambda x: layer()(x.to("meta")), "got x on meta and the layer on cpu"),
        (lambda x: layer()(x, positions=torch.zeros(3, dtype=torch.int64, device="meta")), "got positions on meta"),
        (lambda x: layer()(x, positions=torch.zeros(4).long()), "got positions of shape"),
        (lambda x: layer()(x, positions=[0, 1, 2]), "got positions of type list"),
        (lambda x: layer()(x, positions=torch.ones(3) > 0), "got positions of torch.bool"),
        (lambda x: layer()(x, offset=1.5), "got offset=1.5"),
        (lambda x: layer()(x, offset=torch.zeros(3).long()), "got offset of shape"),
        (lambda x: layer()(x, padding_mask=torch.zeros(2, 3)), "got padding_mask of"),
    ],
)
def test_what_it_is_not_called_with(call, said):
    with pytest.raises(PosencError, match=said):
        call(torch.zeros(2, 3, 16))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("max_len", [0, -1, 2.0, True, 2**63]),
        ("d_model", [0, 2.5, None]),
        ("dropout", [-0.1, 2, "0.1"]),
        ("std", [-1.0, math.nan, None]),
        ("position_offset", [-1, 0.5, True]),
        ("batch_first", [1, None]),
        ("dtype", [torch.int64]),
    ],
)
def test_what_it_is_not_made_with(option, values):
    for value in values:
        with pytest.raises(PosencError, match=f"got {option}="):
            layer(**{option: value})


# ---- its beginning -------------------------------------------------------------------------------------------------


def test_begins_normal():
    weight = layer(1000, 64, std=0.1).weight

    # The deviation of 64 000 draws is off by 1 / sqrt(128 000), a third of a percent; five of these.
    assert abs(weight.std().item() / 0.1 - 1) < 0.014
    assert abs(layer(1000, 64).weight.std().item() / 0.02 - 1) < 0.014


@pytest.mark.parametrize("init", ["transformer", "openai-whisper", Convention(base=500)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_begins_with_a_convention(init, dtype):
    made = layer(init=init, position_offset=2, dtype=dtype)

    assert torch.equal(made.weight, posenc.table(34, 16, init, start=-2, dtype=dtype))
    assert torch.equal(made(torch.zeros(1, 5, 16, dtype=dtype))[0], posenc.table(5, 16, init, dtype=dtype))
    assert made.weight.requires_grad


def test_what_it_does_not_begin_with():
    for init in ("mae-2d", "no such thing", None, torch.zeros(3)):
        with pytest.raises(PosencError, match="convention"):
            layer(init=init)


# ---- life ----------------------------------------------------------------------------------------------------------


def test_casts_copies_and_devices():
    made, x = layer(init="fairseq", position_offset=2), torch.randn(2, 5, 16)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(x), made(x))
        assert repr(other) == repr(made)
        assert other.weight.data_ptr() != made.weight.data_ptr()
    assert torch.equal(copy.deepcopy(made).bfloat16().weight, made.weight.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(made(x), x + made.weight[2:7])
    empty = layer(init="fairseq", position_offset=2, device="meta")
    assert empty(x.to("meta"), positions=torch.zeros(5, dtype=torch.int64, device="meta")).is_meta
    empty.to_empty(device="cpu").reset_parameters()
    assert torch.equal(empty.weight, made.weight)
    with torch.inference_mode():
        born = layer()
    born(x).sum().backward()


def test_a_table_that_is_sharded_begins_with_its_convention():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        mesh = torch.distributed.init_device_mesh("cpu", (1,))
        made = layer(init="fairseq")
        made.weight = nn.Parameter(distribute_tensor(torch.empty(32, 16), mesh, [Shard(0)]))
        made.reset_parameters()

        assert torch.equal(made.weight.full_tensor(), layer(init="fairseq").weight)
    finally:
        torch.distributed.destroy_process_group()


def test_transforms_of_torch_func():
    made, x, positions = layer(), torch.randn(4, 5, 16), torch.randint(0, 32, (4, 5))

    assert torch.equal(torch.func.vmap(lambda a, p: made(a, positions=p))(x, positions), made(x, positions=positions))
    gradient = torch.func.grad(lambda w: torch.func.functional_call(made, {"weight": w}, (x,)).sum())(made.weight)
    assert gradient[:6, 0].tolist() == [4, 4, 4, 4, 4, 0]


@pytest.mark.parametrize("shape", [(34, 16), (1, 34, 16), (34, 1, 16)])
def test_checkpoints_load(shape):
    table, made = torch.randn(shape), layer(position_offset=2)
    state = {"0.weight": table}

    for options in ({}, {"assign": True}):
        assert nn.Sequential(made).load_state_dict(state, **options) == ([], [])
        assert torch.equal(made.weight, table.view(34, 16))
        assert state["0.weight"].shape == shape
    assert list(made.state_dict()) == ["weight"]
    one = LearnedPositionalEmbedding(1, 1)
    assert one.load_state_dict({"weight": torch.ones(1, 1, 1)}) == ([], [])


def test_checkpoints_that_do_not_fit_are_refused():
    made = layer(position_offset=2)
    before = made.weight.clone()
    said = (
        r"weight: got a table of 32 rows, but wanted 34, of which 2 come before position 0; .* layer.resize\(32, rule"
    )

    with pytest.raises(RuntimeError, match=said) as caught:
        made.load_state_dict({"weight": torch.randn(32, 16)})
    assert "size mismatch" not in str(caught.value)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        made.load_state_dict({"weight": torch.randn(34, 8)})
    with pytest.raises(RuntimeError, match="Missing key"):
        made.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        made.load_state_dict({"weight": before, "pe": before})
    assert torch.equal(made.weight, before)

"""Columns moved between conventions, by hand and on real systems, for tensors of every kind."""

import dataclasses

import pytest
import torch
from tests.conversions import FAMOUS, law, rows

import posenc
from posenc import Convention, conventions, convert

# What column of the source stands in each column of the target, written out.
BY_HAND = [
    # s0 c0 s1 c1 s2 c2 -> s0 s1 s2 c0 c1 c2
    ("transformer", "halves", 6, [0, 2, 4, 1, 3, 5]),
    ("halves", "transformer", 6, [0, 3, 1, 4, 2, 5]),
    ("transformer", "marian", 6, [0, 2, 4, 1, 3, 5]),
    ("transformer", Convention(order="cosine-first"), 4, [1, 0, 3, 2]),
    # c0 c1 s0 s1 <- s0 s1 c0 c1
    ("openai-whisper", "audiocraft", 4, [2, 3, 0, 1]),
    # s0 c0 s1 c1 s2 -> s0 s1 s2 c0 c1: the cut cosine is the same
    ("transformer", Convention(layout="halves"), 5, [0, 2, 4, 1, 3]),
    # s0 s1 c0 c1 - -> c0 c1 s0 s1 -
    ("tensor2tensor", "musicgen", 5, [2, 3, 0, 1, 4]),
    # column block, row block -> row block, column block
    ("mae-2d", "hf-vit-mae-2d", 8, [4, 5, 6, 7, 0, 1, 2, 3]),
    # sr cr sc cc -> sr sc cr cc
    ("timm-sincos2d-rev0-il1", "timm-sincos2d-rev0-il0", 8, [0, 1, 4, 5, 2, 3, 6, 7]),
    # x y z | s0x s0y s0z c0x c0y c0z s1x ... -> s0x s1x s0y s1y s0z s1z c0x c1x ... | x y z
    ("nerf", "pytorch3d", 15, [3, 9, 4, 10, 5, 11, 6, 12, 7, 13, 8, 14, 0, 1, 2]),
    # explicit frequencies in another order; equal ones keep theirs
    (
        Convention(spacing="explicit", frequencies=(1.0, 2.0, -3.0)),
        Convention(spacing="explicit", frequencies=(2.0, -3.0, 1.0), layout="halves"),
        6,
        [2, 4, 0, 3, 5, 1],
    ),
    (
        Convention(spacing="explicit", frequencies=(2.0, 1.0, 2.0)),
        Convention(spacing="explicit", frequencies=(1.0, 2.0, 2.0)),
        6,
        [2, 3, 0, 1, 4, 5],
    ),
    ("halves", "interleaved", 6, [0, 3, 1, 4, 2, 5]),
    ("interleaved", "halves", 6, [0, 2, 4, 1, 3, 5]),
    ("halves", "halves", 6, [0, 1, 2, 3, 4, 5]),
]


@pytest.mark.parametrize(("source", "target", "dim", "expected"), BY_HAND)
def test_by_hand(source, target, dim, expected):
    assert convert(torch.arange(dim), source, target).tolist() == expected


def test_nerf_becomes_pytorch3d_as_both_write_it():
    point, scales = torch.tensor([0.1, -0.7, 0.3], dtype=torch.float64), (1.0, 2.0, 4.0)
    nerf = torch.cat([point, *(part for s in scales for part in ((point * s).sin(), (point * s).cos()))])
    angles = (point.unsqueeze(-1) * torch.tensor(scales)).reshape(-1)
    pytorch3d = torch.cat([angles.sin(), angles.cos(), point])

    assert torch.equal(convert(nerf, "nerf", "pytorch3d"), pytorch3d)
    assert torch.equal(convert(pytorch3d, "pytorch3d", "nerf"), nerf)


def test_a_map_of_mae_in_the_order_of_its_axes():
    row, column = torch.arange(4.0), 10 * torch.arange(4.0)
    table = torch.cat([column, row])

    assert torch.equal(convert(table, "mae-2d", "hf-vit-mae-2d"), torch.cat([row, column]))


@pytest.mark.parametrize(("source", "target", "dim"), FAMOUS)
def test_the_encoding_of_one_becomes_that_of_the_other(source, target, dim):
    law(source, target, dim)


def test_a_sum_of_axes_is_laid_out_otherwise():
    drawn = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    sam = conventions["sam"].with_frequencies(drawn)

    law(sam, dataclasses.replace(sam, layout="interleaved", order="cosine-first"), 16)


def test_a_sum_of_which_each_turns_with_one_axis_is_two_blocks():
    blocks = Convention(axes=("row", "column"), spacing="explicit", frequencies=((1.0, 2.0), (3.0, 4.0)))
    summed = dataclasses.replace(
        blocks, axis_layout="sum", frequencies=((0.0, 1.0, 0.0, 2.0), (4.0, 0.0, 3.0, 0.0)), layout="halves"
    )

    law(blocks, summed, 8)


def test_a_standardised_table_is_moved():
    # Its mean is taken in another order of the columns: equal to the rounding of float64.
    source = conventions["patchtst"]
    target = dataclasses.replace(source, layout="halves")

    moved = convert(rows(source, 16, torch.float64), source, target)

    torch.testing.assert_close(moved, rows(target, 16, torch.float64), rtol=0, atol=2.0**-44)


@pytest.mark.parametrize("name", ["transformer", "detr-2d", "pytorch3d"])
def test_how_values_were_computed_plays_no_part(name):
    dim = 30 if name == "pytorch3d" else 32
    dim = 27 if name == "pytorch3d" else dim
    exact = dataclasses.replace(conventions[name], order="cosine-first")
    x = torch.randn(3, dim)

    assert torch.equal(convert(x, conventions[name].as_released(), exact), convert(x, name, exact))


def test_a_row_of_zeros_before_a_map_stays():
    table = torch.cat([torch.zeros(1, 8), rows("mae-2d-cls", 8)])

    moved = convert(table, "mae-2d-cls", "hf-vit-mae-2d")

    assert torch.equal(moved, torch.cat([torch.zeros(1, 8), rows("hf-vit-mae-2d", 8)]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_any_axis(axis):
    x = torch.randn(6, 6, 6)
    there = convert(x, "transformer", "halves", axis=axis)

    assert torch.equal(there, x.index_select(axis, torch.tensor([0, 2, 4, 1, 3, 5])))
    assert torch.equal(convert(there, "halves", "transformer", axis=axis), x)


def test_weights_read_the_same():
    # In integers, so that the order of a sum plays no part.
    table, weight = torch.randint(-99, 99, (5, 12)), torch.randint(-99, 99, (7, 12))

    moved = [convert(x, "openai-whisper", "audiocraft") for x in (table, weight)]

    assert torch.equal(moved[0] @ moved[1].T, table @ weight.T)
    assert not torch.equal(moved[0] @ weight.T, table @ weight.T)


DTYPES = [
    torch.float64,
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float8_e4m3fn,
    torch.int8,
    torch.int64,
    torch.uint16,
    torch.uint64,
    torch.bool,
    torch.complex64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype):
    x = torch.randint(0, 2, (3, 8)).to(dtype)
    before = x.clone()

    there = convert(x, "transformer", "halves")

    assert there.dtype == dtype
    assert there.double().equal(x.double()[:, [0, 2, 4, 6, 1, 3, 5, 7]]) if not dtype.is_complex else True
    assert convert(there, "halves", "transformer").view(torch.uint8).equal(before.view(torch.uint8))
    assert x.view(torch.uint8).equal(before.view(torch.uint8))


def test_the_result_is_new_also_where_nothing_moves():
    x = torch.zeros(4)

    convert(x, "transformer", "transformer").fill_(1)

    assert x.eq(0).all()


def test_views_are_read_and_left_alone():
    whole = torch.arange(60).view(6, 10)
    before, view = whole.clone(), whole.T[::2, 1:5]

    moved = convert(view, "transformer", "halves")

    assert moved.equal(view[:, [0, 2, 1, 3]])
    assert whole.equal(before)
    assert convert(torch.zeros(1, 4).expand(3, 4), "transformer", "halves").shape == (3, 4)


def test_rows_may_be_none():
    assert convert(torch.zeros(0, 4), "transformer", "halves").shape == (0, 4)


def test_a_parameter_gives_a_plain_tensor_with_a_gradient():
    weight = torch.nn.Parameter(torch.zeros(3, 4))

    moved = convert(weight, "transformer", "halves")
    moved.backward(torch.arange(12.0).view(3, 4))

    assert type(moved) is torch.Tensor
    assert moved.requires_grad
    assert torch.equal(weight.grad, convert(torch.arange(12.0).view(3, 4), "halves", "transformer"))


def test_meta_and_inference_and_vmap():
    assert convert(torch.zeros(3, 4, device="meta"), "transformer", "halves").device.type == "meta"
    with torch.inference_mode():
        assert convert(torch.arange(4), "transformer", "halves").tolist() == [0, 2, 1, 3]
    x = torch.randn(3, 4)
    assert torch.vmap(lambda row: convert(row, "transformer", "halves"))(x).equal(x[:, [0, 2, 1, 3]])


def test_default_device_and_dtype_play_no_part():
    try:
        torch.set_default_device("meta")
        moved = convert(torch.arange(8, device="cpu"), "halves", "interleaved", heads=2)
    finally:
        torch.set_default_device(None)

    assert moved.tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.slow
def test_one_graph():
    halves = Convention(layout="halves")
    x = torch.randn(6, 8)

    def turn(x):
        return convert(x, Convention(), halves) + convert(x, "interleaved", "halves", heads=2, rotary_dim=4)

    torch._dynamo.reset()
    assert torch.equal(torch.compile(turn, fullgraph=True, backend="aot_eager")(x), turn(x))


def test_it_is_public():
    assert posenc.convert is convert


@pytest.mark.parametrize(("source", "target"), [("mae-2d", "hf-vit-mae-2d"), ("detr-2d-normalized", "sam2-2d")])
def test_a_map_becomes_that_of_the_other(source, target):
    assert torch.equal(convert(posenc.grid((3, 5), 16, source), source, target), posenc.grid((3, 5), 16, target))

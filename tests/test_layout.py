"""Where sines and cosines sit, by hand, and that nothing is lost when they move."""

import itertools

import pytest
import torch

from posenc.layout import Columns, join, members

LAYOUTS = ["interleaved", "halves"]
ORDERS = ["sine-first", "cosine-first"]

# Columns written out: s0 is the sine of pair 0, c0 its cosine, - holds neither.
BY_HAND = {
    (1, 1, "interleaved", "sine-first"): "s0",
    (1, 1, "halves", "sine-first"): "s0",
    (1, 1, "interleaved", "cosine-first"): "c0",
    (1, 1, "halves", "cosine-first"): "c0",
    (2, 1, "interleaved", "sine-first"): "s0 c0",
    (2, 1, "halves", "cosine-first"): "c0 s0",
    (3, 2, "interleaved", "sine-first"): "s0 c0 s1",
    (3, 2, "halves", "sine-first"): "s0 s1 c0",
    (3, 2, "interleaved", "cosine-first"): "c0 s0 c1",
    (3, 2, "halves", "cosine-first"): "c0 c1 s0",
    (3, 1, "interleaved", "sine-first"): "s0 c0 -",
    (3, 1, "halves", "cosine-first"): "c0 s0 -",
    (4, 2, "interleaved", "sine-first"): "s0 c0 s1 c1",
    (4, 2, "halves", "sine-first"): "s0 s1 c0 c1",
    (4, 2, "interleaved", "cosine-first"): "c0 s0 c1 s1",
    (4, 2, "halves", "cosine-first"): "c0 c1 s0 s1",
    (5, 3, "interleaved", "sine-first"): "s0 c0 s1 c1 s2",
    (5, 3, "halves", "sine-first"): "s0 s1 s2 c0 c1",
    (5, 3, "halves", "cosine-first"): "c0 c1 c2 s0 s1",
    (5, 2, "interleaved", "cosine-first"): "c0 s0 c1 s1 -",
    (5, 2, "halves", "sine-first"): "s0 s1 c0 c1 -",
    (7, 3, "halves", "sine-first"): "s0 s1 s2 c0 c1 c2 -",
}


# Two or three axes, a, b and c, of two pairs: how the columns of all of them lie together.
AXES_BY_HAND = {
    ("outer", "interleaved", "sine-first", 2): "as0 ac0 as1 ac1 bs0 bc0 bs1 bc1",
    ("outer", "halves", "cosine-first", 2): "ac0 ac1 as0 as1 bc0 bc1 bs0 bs1",
    ("middle", "halves", "sine-first", 2): "as0 as1 bs0 bs1 ac0 ac1 bc0 bc1",
    ("middle", "interleaved", "sine-first", 2): "as0 ac0 bs0 bc0 as1 ac1 bs1 bc1",
    ("middle", "halves", "cosine-first", 3): "ac0 ac1 bc0 bc1 cc0 cc1 as0 as1 bs0 bs1 cs0 cs1",
    ("inner", "interleaved", "sine-first", 3): "as0 bs0 cs0 ac0 bc0 cc0 as1 bs1 cs1 ac1 bc1 cc1",
    ("inner", "halves", "sine-first", 2): "as0 bs0 as1 bs1 ac0 bc0 ac1 bc1",
    ("inner", "halves", "cosine-first", 2): "ac0 bc0 ac1 bc1 as0 bs0 as1 bs1",
}


def of_axes(nested: str, layout: str, order: str, axes: int, begin: int = 0, spare: int = 0) -> list[Columns]:
    """The columns of every axis, of two pairs each."""
    dim = begin + 4 * axes + spare
    if nested == "outer":
        return [Columns(dim, 2, layout, order, begin + 4 * axis) for axis in range(axes)]
    return [Columns(dim, 2, layout, order, begin, axis, axes, nested) for axis in range(axes)]


@pytest.mark.parametrize(("begin", "spare"), [(0, 0), (2, 0), (0, 3), (1, 1)])
@pytest.mark.parametrize(("key", "expected"), AXES_BY_HAND.items(), ids=str)
def test_axes_by_hand(key, expected, begin, spare):
    names = ["-"] * (begin + 4 * key[3] + spare)
    for axis, columns in zip("abc", of_axes(*key, begin, spare), strict=False):
        for letter, where in (("s", columns.sines), ("c", columns.cosines)):
            for pair, column in enumerate(range(columns.dim)[where]):
                assert names[column] == "-"
                names[column] = f"{axis}{letter}{pair}"

    assert names == ["-"] * begin + expected.split() + ["-"] * spare


@pytest.mark.parametrize(("key", "expected"), AXES_BY_HAND.items(), ids=str)
def test_axes_are_joined_and_split_alone(key, expected):
    x = torch.arange(1.0, 1 + 2 * 4 * key[3]).view(2, -1)
    total = torch.zeros_like(x)
    for columns in of_axes(*key):
        assert not columns.is_pairwise
        total += join(*members(x, columns), columns)

    assert torch.equal(total, x)


def written(columns: Columns) -> str:
    """The columns as text, from the slices."""
    names = ["?"] * columns.dim
    for letter, where in (("s", columns.sines), ("c", columns.cosines)):
        for pair, column in enumerate(range(columns.dim)[where]):
            names[column] = f"{letter}{pair}"
    for column in range(columns.dim)[columns.spare]:
        names[column] = "-"
    return " ".join(names)


@pytest.mark.parametrize(("key", "expected"), BY_HAND.items(), ids=str)
def test_by_hand(key, expected):
    assert written(Columns(*key)) == expected


EVERY = [
    Columns(dim, pairs, layout, order)
    for dim in [1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 128, 130]
    for pairs in {max(1, dim // 2), (dim + 1) // 2}
    for layout, order in itertools.product(LAYOUTS, ORDERS)
]


@pytest.mark.parametrize("columns", EVERY, ids=str)
def test_every_column_is_held_once(columns):
    names = written(columns).split()

    assert "?" not in names
    assert len(set(names) - {"-"}) == len(names) - names.count("-")


@pytest.mark.parametrize("columns", EVERY, ids=str)
def test_join_undoes_members(columns):
    x = torch.arange(1.0, 1 + 6 * columns.dim).view(2, 3, columns.dim)
    x[..., columns.spare] = 0

    assert torch.equal(join(*members(x, columns), columns), x)


@pytest.mark.parametrize("columns", EVERY, ids=str)
def test_members_undo_join(columns):
    sines = torch.arange(1.0, 1 + 2 * columns.pairs).view(2, columns.pairs)
    joined = join(sines, -sines, columns)

    for part, sign in zip(members(joined, columns), (1, -1), strict=True):
        assert torch.equal(part, sign * sines[:, : part.shape[1]])


@pytest.mark.parametrize("columns", EVERY, ids=str)
def test_pairwise_is_the_order_of_the_paper(columns):
    paper = " ".join(f"s{pair} c{pair}" for pair in range(columns.pairs))

    assert columns.is_pairwise == (columns.layout == "interleaved" and written(columns) == paper)


def test_members_are_views():
    x = torch.zeros(3, 6)
    sines, cosines = members(x, Columns(6, 3, "halves", "cosine-first"))
    sines += 1
    cosines += 2

    assert x.tolist() == [[2, 2, 2, 1, 1, 1]] * 3


def test_join_keeps_dtype_and_gradient():
    sines = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    joined = join(sines, sines, Columns(6, 3, "interleaved", "sine-first"))
    joined.sum().backward()

    assert joined.dtype == torch.bfloat16
    assert sines.grad.tolist() == [[2.0] * 3] * 2

"""Conventions that are more than plain pairs, on every path: compilers, meta tensors, shapes, given memory."""

import importlib
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import FORMATS
from tests.laws import FLOAT64_ERROR, gain_of
from tests.named import ready, width
from tests.strategies import DTYPES, encodings, float_positions, modest, places, positions

from posenc import Convention, conventions, encode, table
from posenc.encoding.prepared import prepared

# The public function has the name of its module.
computed = importlib.import_module("posenc.encoding.values").computed
SYSTEMS = ["mae-2d", "x-transformers", "perceiver", "gligen-box", "timm-fourier-log", "sam", "patchtst", "nerf"]


@modest
@given(case=encodings(), dtype=st.sampled_from(DTYPES), data=st.data())
def test_what_compilers_run_is_within_one_unit(case, dtype, data):
    convention, dim = case
    whole = data.draw(st.booleans())
    near = st.one_of(positions(), st.integers(-9, 9)) if whole else float_positions()
    drawn = data.draw(st.lists(places(convention, near), min_size=1, max_size=3))
    where = torch.tensor(drawn, dtype=torch.int64 if whole else torch.float64)
    eager = encode(where, dim, convention, dtype=dtype)
    plain = computed(where, prepared(convention, dim), dtype)

    assert (plain.dtype, plain.shape) == (eager.dtype, eager.shape)
    apart, right = (plain.double() - eager.double()).abs(), eager.double().abs()
    # One unit, and what float64 may be off by on both sides.
    allowed = 2.0 ** (1 - FORMATS[dtype][0]) * right + 2 * FLOAT64_ERROR * max(1, abs(gain_of(convention, dim)))
    assert ((apart <= allowed) | (plain == eager)).all()


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_position_that_is_none_gives_nan_where_nothing_can_be_read(name):
    convention = ready(name)
    dim, axes = width(convention), len(convention.axes)
    where = torch.ones(3, max(1, axes), dtype=torch.float64)
    where[1, -1], where[2, 0] = torch.nan, torch.inf
    rows = computed(where if axes else where[:, 0], prepared(convention, dim), torch.float32)

    assert rows.isnan().any(-1).tolist() == [False, True, True]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)], ids=str)
@pytest.mark.parametrize("name", SYSTEMS)
def test_shapes(name, shape):
    convention = ready(name)
    dim, axes = width(convention), len(convention.axes)
    where = torch.zeros(*shape, axes) if axes else torch.zeros(shape)
    for released in (convention, convention.as_released()):
        rows = encode(where, dim, released)

        assert rows.shape == (*shape, dim)
        assert rows.is_contiguous()
        assert encode(where, dim, released, device="meta").shape == rows.shape
        assert encode(where.to("meta"), dim, released).is_meta
    assert encode(where.numpy(), dim, convention).shape == rows.shape
    if where.numel():
        assert encode(where.tolist(), dim, convention).shape == rows.shape


@pytest.mark.parametrize(
    "where", [torch.zeros(4), torch.zeros(2, 3), torch.zeros(2, 1), torch.zeros(()), 5, [[]]], ids=str
)
def test_a_last_axis_that_does_not_hold_the_axes_is_refused(where):
    with pytest.raises(ValueError, match=r"\(\.\.\., 2\) with \(row, column\) in the last axis"):
        encode(where, 16, "mae-2d")


def test_positions_are_left_alone():
    where = torch.tensor([[-3.0, 2.0], [0.0, 0.0]])
    for convention in (
        Convention(axes=("row", "column"), position_sign="dropped", include_input="prefix"),
        conventions["mae-2d"],
    ):
        for released in (convention, replace(convention, arithmetic="exp")):
            encode(where, 18 if convention.include_input == "prefix" else 16, released)

    assert where.tolist() == [[-3, 2], [0, 0]]


def test_a_table_is_written_where_it_is_asked_for():
    for convention in (
        conventions["x-transformers"],
        conventions["kimi-k25-time"],
        conventions["marian"].as_released(),
    ):
        out = torch.full((70, 20), 7.0)[3:63, 2:18]
        table(60, 16, convention, start=-5, out=out)

        assert torch.equal(out, table(60, 16, convention, start=-5))


def graphed(names, backend):
    """What one graph makes of positions under each name, beside what eager mode does."""
    widths = {name: width(conventions[name]) for name in names}
    where = {name: torch.arange(-12, 12).view(-1, max(1, len(conventions[name].axes))).squeeze(-1) for name in names}

    def encoded():
        return [encode(where[name], widths[name], name) for name in names]

    torch.compiler.reset()
    return zip(torch.compile(encoded, fullgraph=True, backend=backend)(), encoded(), strict=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*lru_cache:UserWarning")
@pytest.mark.parametrize(
    ("backend", "names"),
    [
        ("inductor", ["mae-2d", "x-transformers"]),
        ("eager", ["perceiver", "kimi-k25-time", "speechbrain-relposencxl", "lex-glue-hierbert", "nerf"]),
    ],
)
def test_in_one_graph(backend, names):
    for rows, eager in graphed(names, backend):
        assert (rows - eager).abs().max() <= 2.0**-24 * max(1, eager.abs().max().item())
        assert (rows.dtype, rows.shape) == (eager.dtype, eager.shape)

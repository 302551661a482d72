"""Dtypes: what comes out has the dtype of what came in, float64 too, and no other device has to have it."""

from __future__ import annotations

from unittest import mock

import torch
from tests.test_devices import WithoutFloat64

from posenc import (
    AlibiBias,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RotaryEmbedding,
    TimestepEmbedding,
    encode,
    grid,
    table,
)
from posenc.encoding import arguments

from .formula import FLOAT32, off, rows, turned
from .register import case

# Half a unit in the last place of values below 1.
HALF_UNIT = {torch.float64: 2.0**-50, torch.float32: FLOAT32, torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9}


@case("B83")
def dtypes_stay():
    x, base = torch.randn(1, 2, 5, 8, dtype=torch.float64), rows(range(5), 8)
    for dtype, half_unit in HALF_UNIT.items():
        q = x.to(dtype)
        made = RotaryEmbedding(8)(q, q)
        assert [each.dtype for each in made] == [dtype] * 2
        wanted = [[turned(row, t) for t, row in enumerate(head)] for head in q[0].tolist()]
        # Below 4 units are four times as wide; half precision is turned in float32 first.
        assert off(made[0][0], wanted) <= 4 * half_unit + 16 * FLOAT32 * (dtype != torch.float64)
        for layer in (PositionalEncoding(8, 0.0), LearnedPositionalEmbedding(8, 8, 0.0)):
            assert layer(q[0]).dtype == dtype
        assert off(PositionalEncoding(8, 0.0)(q[0] * 0)[0], base) <= max(half_unit, FLOAT32)
    assert made[1].dtype == torch.bfloat16
    mixed = RotaryEmbedding(8)(x.bfloat16(), x.float())
    assert [each.dtype for each in mixed] == [torch.bfloat16, torch.float32]


@case("B84")
def no_float64_on_a_device_without_it():
    layer = PositionalEncoding(8, 0.0, 4)
    cpu = torch.Tensor.cpu

    def copied(tensor):
        # A meta tensor has no values to copy: let it have these.
        return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor.is_meta else cpu(tensor)

    with (
        mock.patch.object(arguments, "WITHOUT_FLOAT64", {"meta"}),
        mock.patch("posenc.modules.positional.WITHOUT_FLOAT64", {"meta"}),
        mock.patch.object(torch.Tensor, "cpu", copied),
        mock.patch("posenc.modules.alibi.WITHOUT_FLOAT64", {"meta"}),
        WithoutFloat64(),
    ):
        x, q = torch.zeros(1, 5, 8, device="meta"), torch.zeros(1, 2, 5, 8, device="meta")
        places = torch.arange(5, device="meta")
        made = [
            layer(x),
            layer(x, offset=100),
            layer(x, positions=places),
            PositionalEncoding(8, 0.0, 4, device="meta")(x),
            RotaryEmbedding(8)(q, q)[0],
            RotaryEmbedding(8)(q, q, positions=places)[1],
            encode(places, 8),
            table(5, 8, device="meta"),
            grid((2, 3), 8, device="meta"),
            TimestepEmbedding(8)(places),
            AlibiBias(2, device="meta")(3, 5),
        ]
        assert {each.device.type for each in made} == {"meta"}
        assert {each.dtype for each in made} == {torch.float32}
    # No complex numbers of it either, and what the CPU makes is as it was.
    assert off(layer(torch.zeros(1, 5, 8))[0], rows(range(5), 8)) <= FLOAT32


@case("B86")
def float64_has_the_accuracy_of_float64():
    x, wanted = torch.zeros(1, 5, 8, dtype=torch.float64), rows(range(5), 8)
    for layer in (PositionalEncoding(8, 0.0).double(), PositionalEncoding(8, 0.0, dtype=torch.float64)):
        assert layer(x).dtype == torch.float64
        assert off(layer(x)[0], wanted) <= 1e-15
        assert off(layer(x, offset=7000)[0], rows(range(7000, 7005), 8)) <= 1e-12  # of the formula in Python
    for got in (table(5, 8, dtype=torch.float64), encode(range(5), 8, dtype=torch.float64)):
        assert off(got, wanted) <= 1e-15
    # Beside a table in float32 the result is float64, and holds what the table holds.
    single = PositionalEncoding(8, 0.0)(x)
    assert single.dtype == torch.float64
    assert off(single[0], wanted) <= FLOAT32
    one = torch.ones(1, 1, 5, 8, dtype=torch.float64)
    assert off(RotaryEmbedding(8)(one, one)[0][0, 0], [turned([1.0] * 8, t) for t in range(5)]) <= 1e-15


@case("B87")
def half_precision_on_the_cpu():
    x = torch.zeros(1, 10, 8, dtype=torch.float16)
    for layer in (PositionalEncoding(8, 0.0), PositionalEncoding(8, 0.0, 4).half()):
        assert layer(x).dtype == torch.float16
        assert off(layer(x)[0], rows(range(10), 8)) <= 2.0**-12
        assert layer(x, positions=torch.arange(10).half()).dtype == torch.float16
    q = torch.ones(1, 1, 10, 8, dtype=torch.float16)
    assert RotaryEmbedding(8)(q, q)[0].dtype == torch.float16


@case("B88")
def maps_in_the_dtype_that_was_asked_for():
    got = grid((3, 4), 8, "mae-2d", dtype=torch.float16)
    assert got.dtype == torch.float16
    columns, lines = rows(range(4), 4, layout="halves"), rows(range(3), 4, layout="halves")
    wanted = torch.cat([columns.expand(3, 4, 4), lines.unsqueeze(1).expand(3, 4, 4)], -1)
    assert off(got, wanted) <= 2.0**-12
    assert off(grid((3, 4), 8, "mae-2d", dtype=torch.float64), wanted) <= 1e-15

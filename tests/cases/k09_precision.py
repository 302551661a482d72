"""Low precision: positions, frequencies and phases are never rounded, and values once."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import export

from posenc import PositionalEncoding, RotaryEmbedding, encode, table
from posenc.errors import InputError

from .formula import FLOAT32, FLOAT32_ROTATION, off, row, rows, turned
from .register import case

# Half a unit in the last place below 1.
HALF_UNIT = {torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9}
HALVES = list(HALF_UNIT)


def rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The nearest numbers of a dtype, found among the two neighbours of what torch converts to."""
    near = values.to(dtype)
    best = near.clone()
    for towards in (torch.inf, -torch.inf):
        other = torch.nextafter(near, torch.full_like(near, towards))
        best = torch.where((other.double() - values).abs() < (best.double() - values).abs(), other, best)
    return best


@case("B69")
def values_are_rounded_once():
    wanted = rows(range(2048), 32)
    for dtype, half_unit in HALF_UNIT.items():
        for got in (table(2048, 32, dtype=dtype), PositionalEncoding(32, 0.0, 2048).to(dtype).pe[0]):
            assert off(got, wanted) <= half_unit
            assert torch.equal(got, rounded(wanted, dtype))


@case("B70")
def casts_of_the_module_leave_the_frequencies():
    never = PositionalEncoding(128, 0.0, 16)
    x = torch.zeros(1, 1, 128)
    for there in (lambda m: m.bfloat16().float(), lambda m: m.half().float(), lambda m: m.bfloat16()):
        cast = there(PositionalEncoding(128, 0.0, 16))
        # Where the table itself is of 16 bits, so is the row that is added to float32.
        wanted = never(x, offset=4096) if cast.pe.dtype == torch.float32 else encode([[4096]], 128, dtype=cast.pe.dtype)
        assert torch.equal(cast(x, offset=4096), wanted.float())
    assert off(never(x, offset=4096)[0, 0], row(4096, 128)) <= FLOAT32
    q = torch.randn(1, 1, 1, 128)
    rotary = RotaryEmbedding(128)
    before, _ = rotary(q, q, offset=4096)
    for there in (rotary.bfloat16, rotary.half, rotary.float):
        assert torch.equal(there()(q, q, offset=4096)[0], before)


@case("B71")
def a_model_that_is_cast_whole():
    model = nn.Sequential(PositionalEncoding(32, 0.0, 4096), nn.Linear(32, 32)).to(torch.bfloat16)
    out = model[0](torch.zeros(1, 4096, 32, dtype=torch.bfloat16))
    assert torch.equal(out[0], rounded(rows(range(4096), 32), torch.bfloat16))


@case("B72")
def frequencies_are_not_cast_to_the_input():
    places = torch.tensor([511, 2047, 4095])
    wanted = rows(places.tolist(), 128)
    x = torch.zeros(1, 3, 128, dtype=torch.bfloat16)
    for layer in (PositionalEncoding(128, 0.0), PositionalEncoding(128, 0.0).bfloat16()):
        assert off(layer(x, positions=places)[0], wanted) < 2.5e-3
    one = torch.ones(1, 1, 3, 128, dtype=torch.bfloat16)
    turn, _ = RotaryEmbedding(128)(one, one, positions=places)
    # Values up to sqrt(2): half a unit is 2^-8.
    assert off(turn[0, 0], [turned([1.0] * 128, p) for p in places.tolist()]) <= 2.0**-8 + FLOAT32_ROTATION


@case("B74")
def no_half_stands_between_positions_and_waves():
    layer = PositionalEncoding(8, 0.0, 4).half()
    example = torch.zeros(1, 3, 8, dtype=torch.float16)
    program = export(layer, (example,), {"positions": torch.arange(3)}, dynamic_shapes={"x": None, "positions": None})
    made = [node for node in program.graph.nodes if isinstance(node.meta.get("val"), torch.Tensor)]
    assert any(node.meta["val"].dtype == torch.float64 for node in made)
    # From the first half on all is half: no phase and no wave comes of one.
    for node in made:
        if node.meta["val"].dtype in HALVES:
            users = [user.meta.get("val") for user in node.users]
            assert all(val.dtype == torch.float16 for val in users if isinstance(val, torch.Tensor))
    got = program.module()(example, positions=torch.tensor([4173, 4174, 4175]))[0]
    assert not torch.equal(got[0], got[1])
    assert off(got, rows([4173, 4174, 4175], 8)) <= HALF_UNIT[torch.float16]


@case("B75")
def the_default_dtype_counts_no_positions():
    wanted = {dtype: rounded(rows(range(4096), 64), dtype) for dtype in HALVES}
    before = torch.get_default_dtype()
    for dtype in HALVES:
        try:
            torch.set_default_dtype(dtype)
            made = [table(4096, 64), encode(range(4096), 64), PositionalEncoding(64, 0.0, 4096).pe[0]]
        finally:
            torch.set_default_dtype(before)
        for each in made:
            assert each.dtype == dtype
            assert torch.equal(each, wanted[dtype])
            assert len(each.unique(dim=0)) == 4096


@case("B77")
def neighbours_stay_apart():
    for dtype in HALVES:
        got = encode([8190, 8191], 64, dtype=dtype)
        assert not torch.equal(got[0], got[1])
        assert torch.equal(got, rounded(rows([8190, 8191], 64), dtype))
    one = torch.tensor([[1.0, 0.0]] * 2, dtype=torch.float64).unsqueeze(0)
    turn, _ = RotaryEmbedding(2)(one, one, positions=torch.tensor([8190, 8191]))
    # Frequency 1: a radian apart.
    assert abs((turn[0, 0] @ turn[0, 1]).item() - 0.5403023058681398) < 1e-14


@case("B78")
def autocast_changes_nothing():
    layer, rotary = PositionalEncoding(32, 0.0, 8), RotaryEmbedding(32)
    x, q = torch.randn(1, 40, 32), torch.randn(1, 2, 40, 32)
    calls = [
        lambda: layer(x),
        lambda: layer(x, positions=torch.arange(40) + 4000),
        lambda: rotary(q, q, offset=4000)[0],
        lambda: encode(torch.arange(40) + 4000, 32),
        lambda: table(40, 32, start=4000),
    ]
    for call in calls:
        outside = call()
        for dtype in HALVES:
            with torch.autocast("cpu", dtype=dtype):
                assert torch.equal(call(), outside)


@case("B80")
def positions_that_have_merged_are_refused():
    merged = torch.arange(512).bfloat16()
    assert len(merged.unique()) == 385
    q = torch.zeros(1, 1, 512, 8)
    for call in (
        lambda: encode(merged, 8),
        lambda: PositionalEncoding(8, 0.0)(torch.zeros(1, 512, 8), positions=merged),
        lambda: RotaryEmbedding(8)(q, q, positions=merged),
    ):
        with pytest.raises(InputError, match=r"torch\.bfloat16 up to 512.*below 256.*int64 or float32"):
            call()
    with pytest.raises(InputError, match=r"torch\.float16 up to 2050.*below 2048"):
        encode(torch.tensor([2049.0]).half() + 2, 8)
    # Below that each integer has a number of its own.
    assert torch.equal(encode(torch.arange(256).bfloat16(), 8), table(256, 8))
    assert torch.equal(encode(torch.arange(2048).half(), 8), table(2048, 8))


@case("B81")
def a_rounded_table_is_asked_for_by_its_dtype():
    wanted, layer = rounded(rows(range(64), 16), torch.bfloat16), PositionalEncoding(16, 0.0, 32, dtype=torch.bfloat16)
    x = torch.zeros(1, 64, 16)
    paths = [
        layer(x)[0],
        layer(x, positions=torch.arange(64))[0],
        torch.cat([layer(x[:, :9]), layer(x[:, 9:], offset=9)], 1)[0],
        layer(x.bfloat16())[0],
        torch.compile(layer, backend="eager", fullgraph=True)(x)[0],
    ]
    for got in paths:
        assert torch.equal(got.double(), wanted.double())


@case("B82")
def one_path_for_whole_sequences_and_steps():
    layer, x = PositionalEncoding(32, 0.0, 64).bfloat16(), torch.zeros(1, 300, 32, dtype=torch.bfloat16)
    whole = layer(x)
    assert whole.dtype == torch.bfloat16
    assert torch.equal(torch.cat([layer(x[:, :1], offset=t) for t in range(300)], 1), whole)
    assert torch.equal(torch.cat([layer(x[:, :1], positions=torch.tensor([t])) for t in range(300)], 1), whole)
    rotary, q = RotaryEmbedding(32), torch.randn(1, 2, 300, 32).bfloat16()
    turned_q, _ = rotary(q, q)
    steps = [rotary(q[:, :, t : t + 1], q[:, :, t : t + 1], offset=t)[0] for t in range(300)]
    assert torch.equal(torch.cat(steps, 2), turned_q)

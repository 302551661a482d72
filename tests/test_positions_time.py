"""Positions from timestamps: exact differences, one law of rounding, and nothing that passes for a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from posenc import PositionalEncoding, encode
from posenc.positions import positions_from_timestamps

SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "day": Fraction(86400),
    "week": Fraction(604800),
}
LETTERS = {"min": "m", "day": "D", "week": "W"}
# 2024-02-29T12:34:56.789012345 in nanoseconds since 1970.
INSTANT = 1709210096789012345


def allowed(exact: Fraction) -> Fraction:
    """Half a unit in the last place of float64 there, plus 2^-54."""
    return Fraction(math.ulp(float(abs(exact)))) / 2 + Fraction(1, 2**54)


@pytest.mark.parametrize("resolution", SECONDS)
@pytest.mark.parametrize("unit", SECONDS)
def test_every_resolution_in_every_unit(unit, resolution):
    ratio = SECONDS[resolution] / SECONDS[unit]
    # No product beyond int64.
    top = min(2**62, int((2**63 - 1) / max(ratio, Fraction(1))))
    counts = [n for n in (0, 1, -1, 59, -61, 1000003, -(10**9) - 7, top, -top, top // 3) if abs(n) <= top]
    made = positions_from_timestamps(torch.tensor(counts), unit, resolution=resolution)

    exact = [count * ratio for count in counts]
    assert made.dtype == (torch.int64 if ratio.denominator == 1 else torch.float64)
    for got, wanted in zip(made.tolist(), exact, strict=True):
        assert abs(Fraction(got) - wanted) <= (0 if ratio.denominator == 1 else allowed(wanted))
        if wanted.denominator == 1 and abs(wanted) < 2**53:
            assert got == wanted


@pytest.mark.parametrize("unit", ["ns", "s", "h", "day"])
def test_far_origins_cost_nothing(unit):
    generator = torch.Generator().manual_seed(7)
    passed = torch.randint(-(10**15), 10**15, (200,), generator=generator)
    stamps = passed + INSTANT

    made = positions_from_timestamps(stamps, unit, resolution="ns", origin=INSTANT)

    assert torch.equal(made, positions_from_timestamps(passed, unit, resolution="ns"))
    assert torch.equal(made, positions_from_timestamps(stamps, unit, resolution="ns", origin=torch.tensor(INSTANT)))
    moved = 10**12 * 3600 * 24
    assert torch.equal(made, positions_from_timestamps(stamps + moved, unit, resolution="ns", origin=INSTANT + moved))


def test_neighbouring_nanoseconds_are_told_apart():
    stamps = torch.tensor([INSTANT, INSTANT + 1, INSTANT + 2])

    made = positions_from_timestamps(stamps, "s", resolution="ns", origin=INSTANT)

    assert made.tolist() == [0.0, 1e-9, 2e-9]
    # Seconds in float64, as one would write it: nothing is left of a nanosecond.
    assert (stamps.double() / 1e9 - INSTANT / 1e9).unique().numel() == 1


@pytest.mark.parametrize("resolution", SECONDS)
def test_arrays_of_time_know_their_resolution(resolution):
    letters = LETTERS.get(resolution, resolution)
    counts = np.array([0, 5, -7, 100])
    for kind in ("datetime64", "timedelta64"):
        array = counts.astype(f"{kind}[{letters}]")
        for given in (array, array.reshape(2, 2), array[::-1], array.astype(array.dtype.newbyteorder(">"))):
            wanted = positions_from_timestamps(
                torch.tensor(given.astype("int64").tolist()), "min", resolution=resolution
            )
            assert torch.equal(positions_from_timestamps(given, "min"), wanted)
        assert torch.equal(positions_from_timestamps(array, resolution, origin=array[1]), torch.from_numpy(counts - 5))
    assert positions_from_timestamps(array[0], "s").shape == ()


def test_dates_months_and_multiples():
    months = np.array(["2024-01", "2024-03"], "datetime64[M]")
    assert positions_from_timestamps(months, "day", origin=months[0]).tolist() == [0, 60]
    years = np.array(["2023", "2025"], "datetime64[Y]")
    assert positions_from_timestamps(years, "day", origin=np.datetime64("2023-01-01")).tolist() == [0, 731]
    quarters = np.array([0, 1, 2]).astype("timedelta64[15m]")
    assert positions_from_timestamps(quarters, "h").tolist() == [0, 0.25, 0.5]
    assert positions_from_timestamps(quarters, "min").tolist() == [0, 15, 30]
    fine = np.array([1, 10**9]).astype("timedelta64[as]")
    assert positions_from_timestamps(fine, "ns").tolist() == [1e-9, 1.0]


def test_an_origin_may_be_finer_or_coarser():
    days = np.array(["2024-02-28", "2024-03-01"], "datetime64[D]")
    noon = np.datetime64("2024-02-28T12:00:00.000000000")
    assert positions_from_timestamps(days, "h", origin=noon).tolist() == [-12.0, 36.0]
    assert positions_from_timestamps(days.astype("datetime64[ns]"), "h", origin=days[0]).tolist() == [0.0, 48.0]
    stamps = torch.tensor([INSTANT])
    midnight = np.datetime64("2024-02-29")
    made = positions_from_timestamps(stamps, "s", resolution="ns", origin=midnight)
    assert made.item() == pytest.approx(45296.789012345, abs=1e-11)
    assert positions_from_timestamps(torch.tensor([3]), "s", resolution="min", origin=np.timedelta64(30, "s")) == 150


def test_every_row_may_have_an_origin():
    stamps = torch.tensor([[10, 20], [110, 130]])

    made = positions_from_timestamps(stamps, "ns", resolution="ns", origin=torch.tensor([10, 100]))

    assert made.tolist() == [[0, 10], [10, 30]]


def test_fractions_kept_refused_or_dropped():
    stamps = torch.tensor([0, 90, -1])
    options = {"unit": "min", "resolution": "s"}
    assert positions_from_timestamps(stamps, **options).tolist() == [0.0, 1.5, -1 / 60]
    assert positions_from_timestamps(stamps, **options, fractions="drop").tolist() == [0, 1, -1]
    whole = positions_from_timestamps(torch.tensor([0, 120, -60]), **options, fractions="refuse")
    assert (whole.dtype, whole.tolist()) == (torch.int64, [0, 2, -1])
    for fractions in ("keep", "refuse", "drop"):
        assert positions_from_timestamps(stamps, "ms", resolution="s", fractions=fractions).dtype == torch.int64


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint32])
def test_narrow_integers_do_not_wrap(dtype):
    stamps = torch.tensor([0, 100], dtype=dtype)

    assert positions_from_timestamps(stamps, "ns", resolution="week", origin=1).tolist() == [
        -604800 * 10**9,
        99 * 604800 * 10**9,
    ]


def test_pieces_equal_the_whole():
    stamps = INSTANT + torch.tensor([0, 3, 10**9, 10**9 + 1, 86400 * 10**9, 10**15]).view(1, 6)
    layer, x = PositionalEncoding(16, 0.0), torch.randn(1, 6, 16)

    def positions(piece):
        return positions_from_timestamps(piece, "s", resolution="ns", origin=INSTANT)

    whole = layer(x, positions=positions(stamps))
    pieces = [layer(x[:, at], positions=positions(stamps[:, at])) for at in (slice(2), slice(2, 3), slice(3, 6))]

    assert torch.equal(torch.cat(pieces, 1), whole)
    assert torch.equal(encode(positions(stamps), 16)[0, 4], encode(86400, 16))


def test_inputs_are_left_alone():
    stamps, origin = torch.tensor([5, 7]), torch.tensor(5)
    array = np.array([5, 7]).astype("datetime64[s]")
    array.flags.writeable = False
    made = positions_from_timestamps(stamps, "ns", resolution="ns", origin=origin)
    positions_from_timestamps(array, "s").add_(1)

    made.add_(1)

    assert stamps.tolist() == [5, 7]
    assert origin.item() == 5
    untouched = positions_from_timestamps(stamps, "ns", resolution="ns")
    untouched.add_(1)
    assert stamps.tolist() == [5, 7]

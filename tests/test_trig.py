"""Phases become sines and cosines with the errors that the bounds say, and are rounded once."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.caches import forget
from tests.judge import FORMATS, MP, ROUNDED, misrounded, real, rounded
from tests.strategies import modest, near_ties

from posenc import table
from posenc.frequency import TURN, Ladder
from posenc.phase import Phase, limbs, phase_of, step_limbs
from posenc.trig.certify import _CHUNK_BYTES, _ROOM, _Chunk
from posenc.trig.exact import _SERIES_ERROR, Term, nearest, round_fixed, sine_fixed
from posenc.trig.quarter import RELATIVE_ERROR, cos_sin
from posenc.trig.render import Candidates, are, direct
from posenc.trig.rounding import doubtful, round_into, round_once
from posenc.trig.rows import ERROR_PER_ROW, coarse, digits_of, groups, places_of, rows, signs_of

QUARTER = TURN // 4
PAPER = Ladder(pairs=8, base=Fraction(10000), span=Fraction(8))


def angle(phase: int):
    return 2 * MP.pi * MP.mpf(phase) / TURN


def evaluate(phases: list[int]) -> list[tuple[float, float]]:
    cosine, sine = cos_sin(Phase(*limbs([phase % TURN for phase in phases])[0]))
    return list(zip(cosine.tolist(), sine.tolist(), strict=True))


def worst_relative_error(phases: list[int]) -> float:
    worst = 0
    for phase, pair in zip(phases, evaluate(phases), strict=True):
        for got, true in zip(pair, (MP.cos(angle(phase)), MP.sin(angle(phase))), strict=True):
            # The judge's own pi leaves 10^-120 of a zero.
            worst = max(worst, abs(got - true) / max(abs(true), MP.mpf(2) ** -300))
    return float(worst)


def test_quarter_turns_by_hand():
    assert evaluate([0, QUARTER, 2 * QUARTER, 3 * QUARTER]) == [(1, 0), (0, 1), (-1, 0), (0, -1)]
    assert evaluate([TURN // 12])[0][1] == pytest.approx(0.5, rel=RELATIVE_ERROR)


def test_any_phase_is_within_the_relative_bound():
    draw = random.Random(1)

    assert worst_relative_error([draw.getrandbits(128) for _ in range(2000)]) <= RELATIVE_ERROR


@pytest.mark.parametrize("side", [1, -1], ids=["after", "before"])
@pytest.mark.parametrize("eighth", range(8))
def test_the_relative_bound_holds_beside_every_eighth_of_a_turn(eighth, side):
    draw = random.Random(eighth)
    phases = [
        eighth * TURN // 8 + side * (2**bits | draw.getrandbits(bits)) for bits in range(1, 124) for _ in range(2)
    ]

    assert worst_relative_error(phases) <= RELATIVE_ERROR


def test_the_same_phase_gives_the_same_bits():
    draw = random.Random(2)
    high, middle, low = limbs([draw.getrandbits(128) for _ in range(97)])[0]
    together = torch.stack(cos_sin(Phase(high, middle, low)), -1)
    alone = [torch.stack(cos_sin(Phase(high[i], middle[i], low[i]))) for i in range(97)]
    spread = Phase(*(part.repeat_interleave(3)[::3] for part in (high, middle, low)))
    tall = Phase(*(part.expand(5, 97).t() for part in (high, middle, low)))

    assert torch.equal(together, torch.stack(alone))
    assert torch.equal(together, torch.stack(cos_sin(spread), -1))
    assert torch.equal(together, torch.stack(cos_sin(tall), -1)[:, 3])


HALF_UNITS = [Fraction(n, 2) for n in (1, 2, 3, 4, 5, 127, 129, 130, 255, 257, 2046, 2047, 2048, 2049, 2050, 2051)]


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
@pytest.mark.parametrize("exponent", [-24, -20, -15, -14, -13, -10, -1, 0])
def test_rounding_beside_every_tie(dtype, exponent):
    # One float64 unit beside a tie is far less than float32 can hold: two roundings would show.
    ties = [float(n * Fraction(2) ** (exponent - 10)) for n in HALF_UNITS]
    ties = torch.tensor([sign * tie for tie in ties for sign in (1, -1)], dtype=torch.float64)
    beside = torch.cat([torch.nextafter(ties, ties * 2), torch.nextafter(ties, ties * 0)])

    assert round_once(beside, dtype).double().tolist() == [rounded(value, dtype) for value in beside.tolist()]


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
@modest
@given(value=st.floats(-1, 1).filter(lambda value: abs(value) > 2.0**-126))
def test_rounding_any_value(dtype, value):
    assert round_once(torch.tensor(value, dtype=torch.float64), dtype).item() == rounded(value, dtype)


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
def test_values_of_a_dtype_are_left_alone(dtype):
    values = torch.cat([torch.arange(2**11).to(dtype) / 2**k for k in range(25)])

    assert torch.equal(round_once(values.double(), dtype), values)
    assert torch.equal(round_once(-values.double(), dtype), -values)


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
def test_rounding_into_strided_memory(dtype):
    values = torch.linspace(-1, 1, 999, dtype=torch.float64)
    out = torch.zeros(999, 2, dtype=dtype)
    round_into(out[:, 1], values)

    assert torch.equal(out[:, 1], round_once(values, dtype))
    assert not out[:, 0].any()


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
def test_doubt_is_where_the_bound_holds_a_tie(dtype):
    precision, _ = FORMATS[dtype]
    tie, bound = 0.5 + 2.0 ** (-precision - 1), 2.0**-49
    values = tie + torch.tensor([0, 0.5, -0.5, 2, -2], dtype=torch.float64) * bound

    assert doubtful(values, bound, dtype).tolist() == [True, True, True, False, False]


@pytest.mark.parametrize("bits", [64, 192, 384, 1000, 3072])
def test_integer_sines_are_off_by_less_than_the_bound(bits):
    draw = random.Random(bits)
    special = [(k << (bits - 4)) + d for k in range(17) for d in (-1, 0, 1)]
    with MP.workprec(bits + 100):
        for phase in [*special, *(draw.getrandbits(bits) for _ in range(50))]:
            true = MP.sin(2 * MP.pi * MP.mpf(phase) / 2**bits) * MP.mpf(2) ** bits
            assert abs(sine_fixed(phase, bits) - true) < _SERIES_ERROR


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@modest
@given(value=st.integers(-(2**192), 2**192))
def test_rounding_in_integers(dtype, value):
    true = MP.ldexp(MP.mpf(value), -192)

    assert float(round_fixed(value, 192, *FORMATS[dtype])) == rounded(true, dtype)


@pytest.mark.parametrize(("halves", "right"), [(1, 0), (3, 2), (5, 2), (7, 4), (-1, 0), (-3, -2), (-5, -2)])
def test_ties_in_integers_go_to_even(halves, right):
    assert round_fixed(halves, 1, 24, 0) == right


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("member", ["sine", "cosine"])
@pytest.mark.parametrize("position", [1, -1, 3, 2**40, 2**63 - 1, -(2**63), Fraction(1, 3), Fraction(1, 2**80)])
def test_the_last_word(dtype, member, position):
    for pair in (0, 3, 7):
        turn = real(position) * MP.mpf(10000) ** -(MP.mpf(pair) / 8)
        true = MP.sin(turn) if member == "sine" else MP.cos(turn)
        got = nearest([Term(Fraction(position), PAPER, pair)], member, *FORMATS[dtype])

        assert got == rounded(true, dtype)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("bits", [100, 250, 400])
def test_the_last_word_beside_a_tie_that_many_bits_do_not_show(bits, side):
    tie = Fraction(2**24 + 2 * 12345 + 1, 2**25)
    with MP.workprec(800):
        beside = MP.asin(real(tie) + side * MP.mpf(2) ** -bits)
        first = Fraction(int(MP.nint(beside * MP.mpf(2) ** 600)), 2**600)
    ladder = Ladder(pairs=1, base=Fraction(2), span=Fraction(1), first=first)

    assert nearest([Term(Fraction(1), ladder, 0)], "sine", 24, -149) == tie + side * Fraction(1, 2**25)


def test_the_last_word_at_phase_zero():
    shifted = Ladder(pairs=1, base=Fraction(10000), span=Fraction(1), offset=Fraction(-5, 2))

    origin = [Term(Fraction(5, 2), shifted, 0)]

    assert nearest(origin, "sine", 24, -149) == 0
    assert nearest(origin, "cosine", 24, -149) == 1


@pytest.mark.parametrize("places", [1, 2, 4, 8])
def test_products_of_rows_are_within_the_bound(places):
    draw = random.Random(places)
    ladder = Ladder(pairs=70, base=Fraction(10000), span=Fraction(70), offset=Fraction(2))
    positions = [draw.getrandbits(8 * places - 1) * draw.choice([1, -1]) for _ in range(300)]
    where = torch.tensor(positions)
    blocks = where >> 8
    digits = digits_of(blocks, max(1, places_of(blocks)))
    for group in groups(ladder):
        product = rows(ladder, group, 0)[where & 255] * coarse(digits, signs_of(blocks), ladder, group)
        true = direct(where, step_limbs(ladder)[:, :, group])
        away = (torch.view_as_real(product) - true).norm(dim=-1).max().item()

        # The judge here is off by `RELATIVE_ERROR` itself; `test_any_phase...` holds it.
        assert away <= (1 + len(digits)) * ERROR_PER_ROW + RELATIVE_ERROR


def test_rows_of_zero_change_nothing():
    for place in range(1, 8):
        assert torch.view_as_real(rows(PAPER, slice(0, 8), place)[0]).tolist() == [[1, 0]] * 8


def test_groups_hold_every_pair_once():
    for pairs in (1, 63, 64, 65, 200):
        ladder = Ladder(pairs=pairs, base=Fraction(2), span=Fraction(pairs))
        parts = groups(ladder)

        assert [pair for part in parts for pair in range(pairs)[part]] == list(range(pairs))
        assert max(part.stop - part.start for part in parts) <= 64


def test_digits_put_a_position_together_again():
    positions = torch.tensor([0, 1, -1, 255, 256, -256, 2**62 + 12345, -(2**63), 2**63 - 1])
    blocks = positions >> 8
    digits, signs = digits_of(blocks, 7), signs_of(blocks).long().tolist()

    for i, position in enumerate(positions.tolist()):
        size = sum(int(digit[i]) << (8 * place) for place, digit in enumerate(digits))
        assert signs[i] * size * 256 + int(positions[i] & 255) == position
    assert places_of(blocks) == 7
    assert places_of(torch.tensor([], dtype=torch.int64)) == 0


def test_direct_values_stand_as_sine_and_cosine():
    values = direct(torch.tensor([0, 1, -1]), step_limbs(PAPER))

    assert values.shape == (3, 8, 2)
    assert values[1, 0].tolist() == [pytest.approx(0.8414709848078965), pytest.approx(0.5403023058681398)]
    assert torch.equal(values[2, :, 0], -values[1, :, 0])
    assert phase_of(torch.tensor([[0]]), step_limbs(PAPER)).high.tolist() == [[0] * 8]


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
def test_the_first_row_of_a_table_is_decided_where_an_offset_has_moved_it(dtype):
    wrong = []
    for convention in near_ties(dtype):
        forget()
        moved = replace(convention, position_offset=1)
        # As long as is filled block by block.
        wrong += misrounded(table(256, 2, moved, dtype=dtype)[:1], [0], moved)

    assert wrong == []


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64], ids=str)
@pytest.mark.parametrize("half", [Fraction(1, 2), Fraction(-1, 2), Fraction(-5, 2)])
def test_half_a_position_is_no_whole_one(half, dtype):
    assert not are(torch.tensor([-3, -2, -1, 0, 1]).to(dtype), half).any()


def some(count: int) -> tuple[Candidates, torch.Tensor]:
    """Values of a block that are decided."""
    none = torch.zeros(count, dtype=torch.int64)
    return Candidates(none, none, none), none.double()


def test_a_chunk_keeps_no_more_values_than_it_counts_bytes_for():
    chunk, sizes = _Chunk(), [_ROOM - 5, 6, 5, 1, 0]
    for block, size in enumerate(sizes):
        chunk.keep(block, some(size))
    chunk.keep(9, None)

    assert sorted(chunk.blocks) == [0, 2, 4, 9]
    assert chunk.room == 0
    assert _ROOM * sum(part.element_size() for part in (*some(1)[0], some(1)[1])) < _CHUNK_BYTES

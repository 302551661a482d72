"""What real systems are off by: every one is measured, against the truth, and a fault of ours would show."""

import numpy as np
import pytest
import torch
from tests.named import ROTARY, TABLES

from posenc import Convention, conventions, encode, verify
from posenc.errors import ConventionError
from posenc.verify import accuracy
from posenc.verify.accuracy import DIM, FAMOUS, FURTHEST, POSITIONS, ROWS, measure_curves, measure_systems

# Half a unit in the last place below 1, and what our float64 values may be off by.
HALF = 2.0**-25 + verify.FLOAT64_BOUND
# The systems that compute in float64, from positions that are whole: rounded once, but for a float64's own error.
WIDE = {"float64", "float64-div"}


@pytest.fixture(scope="module")
def found():
    accuracy._measured.cache_clear()
    return {each.name: each for each in measure_systems()}


@pytest.fixture(scope="module")
def curves():
    return measure_curves()


@pytest.fixture
def fresh():
    """Nothing that was measured before, nor what a broken measurement leaves."""
    accuracy._measured.cache_clear()
    yield
    accuracy._measured.cache_clear()


# The table.


def test_every_system_is_measured(found):
    assert list(found) == TABLES
    assert {each.kind for each in found.values()} == {"positions", "coordinates"}


@pytest.mark.parametrize("name", TABLES)
def test_ours_is_off_by_half_a_unit_and_by_no_less(name, found):
    each = found[name]
    # Values that are scaled down have a smaller unit.
    least = 2.0**-30 if name in ("x-transformers", "patchtst") else 0.9 * HALF

    assert len(each.ours) == len(each.released) == (len(POSITIONS) if each.kind == "positions" else 1)
    assert least < max(each.ours) <= HALF


def test_the_textbook_is_off_by_what_the_judge_says(found):
    """Neither our values nor our recipe are in this: the snippet written out, against arbitrary precision."""
    for position, error in zip(POSITIONS, found["annotated-transformer"].released, strict=True):
        first = position - ROWS + 1
        exact = verify.exact_rows([first], list(range(ROWS)), DIM, Convention())
        made = verify.textbook(torch.arange(first, position + 1), DIM).double().numpy()

        assert error == pytest.approx(np.abs(made - exact.high).max(), rel=1e-9)


def test_float64_inside_is_as_good_as_exact_and_float32_grows_with_the_position(found):
    for each in found.values():
        if each.kind == "positions" and each.recipe in WIDE:
            assert max(each.released) < HALF + 1e-10, each.name
        elif each.kind == "positions":
            # 2^-24 of the phase at least, where the first frequency is 1; smaller values err less.
            scale = conventions[each.name].plan(each.dim).gain * max(each.ours) * 2**25
            assert each.released[-1] > POSITIONS[-1] * 2.0**-24 * min(scale, 1) / 4, each.name


def test_systems_of_one_arithmetic_err_alike(found):
    assert found["openai-whisper"].released == found["tensor2tensor"].released
    assert found["gptj"].released == found["ctrl"].released
    assert found["gptj"].released != found["openai-whisper"].released


def test_a_fault_of_ours_would_show(monkeypatch, fresh):
    def wrong(places, dim, convention, *, dtype):
        values = encode(places, dim, convention, dtype=dtype)
        exact = convention.arithmetic == "exact" and dtype == torch.float32
        return values * (1 + 1e-6) if exact else values

    monkeypatch.setattr(accuracy, "encode", wrong)
    (each,) = measure_systems(["transformer"])

    assert max(each.ours) > 1e-7


def test_drawn_frequencies_are_the_same_every_time(fresh):
    first = list(measure_systems(["sam", "gaussian-fourier"]))
    accuracy._measured.cache_clear()

    assert list(measure_systems(["sam", "gaussian-fourier"])) == first


@pytest.mark.parametrize("name", ROTARY)
def test_what_turns_queries_and_keys_is_refused(name):
    with pytest.raises(ConventionError, match=f"the accuracy of '{name}'"):
        next(measure_systems(["marian", name]))


def test_progress_is_told():
    heard = []
    list(measure_systems(["fairseq", "marian"], on_system=lambda *steps: heard.append(steps)))

    assert heard == [(1, 2), (2, 2)]


# The curves.


def test_ten_famous_systems_and_ours_have_their_curve(curves):
    assert len(FAMOUS) == 10
    assert sorted(name for curve in curves for name in curve.names) == sorted(FAMOUS)
    assert curves[-1].names == ()
    assert [(curve.positions[0], curve.positions[-1]) for curve in curves] == [(1, FURTHEST)] * len(curves)


def test_ours_is_flat_at_half_a_unit(curves):
    assert max(curves[-1].errors) <= HALF
    assert min(curves[-1].errors) > 0.9 * HALF


def test_theirs_rises_with_the_position_or_is_computed_in_float64(curves):
    for curve in curves[:-1]:
        wide = {conventions[name].released_as in WIDE for name in curve.names}
        assert len(wide) == 1
        if wide == {True}:
            assert max(curve.errors) < HALF + 1e-8
        else:
            assert curve.errors[-1] > 1e6 * curve.errors[0]


def test_systems_that_differ_in_start_or_order_share_a_curve(curves):
    groups = [set(curve.names) for curve in curves]

    assert {"openai-whisper", "fairseq", "tensor2tensor"} in groups
    assert {"gptj", "xlnet-relative"} in groups
    assert curves[0].errors[-1] == max(curve.errors[-1] for curve in curves)

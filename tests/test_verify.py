"""The comparison with the reference finds what is wrong, by how much and where, and nothing else."""

import json
import math

import numpy as np
import pytest
import torch
from tests.named import distinct

import posenc
from posenc import errors, verify
from posenc.verify import sample
from posenc.verify.error import Exact, scale
from posenc.verify.error import errors as errors_of
from posenc.verify.sample import DIMS, NEAR, PER_ROUND, units

DTYPES = ["float64", "float32", "bfloat16", "float16"]


@pytest.fixture
def narrow(monkeypatch):
    """A comparison that takes half a second."""
    monkeypatch.setattr(sample, "DIMS", (3, 64))


@pytest.fixture(scope="module")
def rows():
    return verify.measure(values=1, seed=3)


# What is judged.


def test_this_machine_is_right(rows):
    assert [row for row in rows if not row.is_sound] == []
    assert sum(row.misrounded for row in rows if row.bound == "nothing misrounded") == 0


def test_every_path_dtype_and_size_has_its_row(rows):
    kinds = {(row.path, row.dtype, row.near) for row in rows}

    assert kinds == {
        (path, dtype, near) for path in ("encode", "table", "computed") for dtype in DTYPES for near in NEAR
    }
    assert all(row.values for row in rows)


def test_a_right_value_is_up_to_half_a_unit_away(rows):
    """An error that is far smaller would mean that little was measured."""
    for row in rows:
        if row.dtype != "float64":
            assert 0.4 < row.largest_units <= 0.5


def test_the_sample_covers_conventions_widths_and_signs():
    chosen = list(units(1, seed=0))

    known = [(name, dim) for dim in DIMS for name in distinct(dim)]
    plain = [unit for unit in chosen if unit.convention.gain == 1]
    assert {posenc.conventions[name].plan(dim).blocks for name, dim in known} == {
        unit.convention.plan(unit.dim).blocks for unit in plain
    }
    assert len(plain) == len(known)
    gained = {(str(unit.convention.gain), unit.dim) for unit in chosen if unit.convention.gain != 1}
    assert gained == {(gain, dim) for gain in ("0.1", "-0.7") for dim in DIMS} | {
        ("inverse-root", dim) for dim in DIMS if dim % 2 == 0
    }
    assert {unit.dim for unit in chosen} == set(DIMS)
    positions = [unit.position(row) for unit in chosen for row in range(len(unit.anchors) * unit.length)]
    assert min(positions) < -(2**62)
    assert max(positions) > 2**62
    assert {unit.near[0] for unit in chosen} == {"0"}


def test_the_sample_reaches_both_ends_of_int64_and_not_beyond():
    runs = [(anchor, anchor + unit.length - 1) for unit in units(500_000, seed=0) for anchor in unit.anchors]

    assert min(first for first, _ in runs) == -(2**63)
    assert max(last for _, last in runs) == 2**63 - 1


@pytest.mark.parametrize("values", [1, 100_000, 3 * PER_ROUND + 1])
def test_there_are_as_many_values_as_were_asked_for(values):
    total = sum(len(unit.anchors) * unit.length * unit.dim for unit in units(values, seed=0))

    # Of every convention and width at least one row near each magnitude.
    least = len(NEAR) * sum(unit.dim for unit in units(1, seed=0))
    assert values <= total <= 1.2 * values + least


def test_rows_are_near_what_they_say():
    for unit in units(100_000, seed=1):
        for label, span in verify._spans(unit):
            middle, spread = NEAR[label]
            for row in range(span.start, span.stop):
                assert abs(abs(unit.position(row)) - middle) <= spread + unit.length


def test_the_seed_decides(narrow):
    first, again, other = (verify.measure(values=1, seed=seed) for seed in (3, 3, 4))

    assert first == again
    assert first != other


def test_progress_is_told_to_the_end(narrow):
    heard = []

    verify.measure(values=5_000, on_values=lambda done, total: heard.append((done, total)))

    assert heard == sorted(heard)
    assert 0 < heard[0][0] < heard[-1][0]
    assert heard[-1] == (5_000, 5_000)


# What is found.


def step_away(values, count=1):
    """The first value of the last row moved by `count` numbers of its dtype."""
    wrong = values.clone()
    for _ in range(count):
        wrong[-1, 0] = torch.nextafter(wrong[-1, 0], torch.tensor(2.0, dtype=wrong.dtype))
    return wrong


@pytest.mark.parametrize("path", ["encode", "table"])
def test_one_wrong_number_is_found_and_placed(narrow, monkeypatch, path):
    right = getattr(posenc, path)

    def wrong(*arguments, **options):
        found = right(*arguments, **options)
        is_it = arguments[1:] == (64, posenc.conventions["fairseq"]) and options["dtype"] == torch.float32
        return step_away(found) if is_it else found

    monkeypatch.setattr(verify, path, wrong)
    broken = [row for row in verify.measure(values=1) if not row.is_sound]

    assert broken
    assert {(row.path, row.dtype) for row in broken} == {(path, "float32")}
    assert all(row.misrounded and row.largest_units > 0.5 for row in broken)
    if path == "table":
        unit = next(unit for unit in units(1, seed=0) if (unit.name, unit.dim) == ("fairseq", 64))
        ends = {anchor + unit.length - 1 for anchor in unit.anchors}
        assert {row.worst["position"] for row in broken} == ends
    assert {(row.worst["convention"], row.worst["dim"], row.worst["column"]) for row in broken} == {("fairseq", 64, 0)}


def test_a_gain_that_is_rounded_twice_is_found(narrow, monkeypatch):
    def twice(positions, dim, convention, *, dtype):
        plain = posenc.Convention(**{**vars(convention), "gain": 1})
        rows = posenc.encode(positions, dim, plain, dtype=dtype)
        return (rows.double() * convention.plan(dim).gain).to(dtype)

    monkeypatch.setattr(verify, "encode", twice)
    broken = [row for row in verify.measure(values=1) if not row.is_sound]

    assert {(row.path, row.dtype) for row in broken} >= {("encode", dtype) for dtype in DTYPES[1:]}
    assert all(posenc.conventions.get(row.worst["convention"], GAINED).gain != 1 for row in broken)


GAINED = posenc.Convention(gain=0.1)


def test_the_compiled_form_may_miss_only_what_float64_cannot_decide(narrow, monkeypatch):
    right = verify.computed
    monkeypatch.setattr(verify, "computed", lambda *arguments: step_away(right(*arguments)))

    broken = {(row.path, row.dtype) for row in verify.measure(values=1) if not row.is_sound}

    assert broken == {("computed", "float32"), ("computed", "bfloat16"), ("computed", "float16")}


def test_a_hair_is_what_float64_cannot_decide():
    row = verify.Row("computed", "float32", "0", "half a unit + 1e-15")
    exact = Exact(np.array([0.5 + 2.0**-25]), np.array([-1e-20]))
    at = scale(exact, torch.float32)
    unit = next(units(1, seed=0))

    row.add(errors_of(torch.tensor([0.5 + 2.0**-24]), exact, at), at, unit, 0)

    assert row.misrounded == 1
    assert row.is_sound


def test_float64_may_be_off_by_its_bound_alone(narrow, monkeypatch):
    right = posenc.encode
    monkeypatch.setattr(verify, "encode", lambda *arguments, **options: right(*arguments, **options) + 2e-15)

    rows = verify.measure(values=1)

    assert {row.path for row in rows if row.dtype == "float64" and not row.is_sound} == {"encode"}


@pytest.mark.parametrize(("steps", "is_sound"), [(1, True), (2, False)])
def test_elsewhere_one_unit_is_allowed_and_counted(steps, is_sound):
    exact = Exact(np.array([0.5 + 0.3 * 2.0**-24]), np.array([0.0]))
    at = scale(exact, torch.float32)
    row = verify.Row("encode", "float32", "0", verify._bound("encode", torch.float32, torch.device("cuda")))

    row.add(errors_of(torch.tensor([0.5 + steps * 2.0**-24]), exact, at), at, next(units(1, seed=0)), 0)

    assert row.misrounded == 1
    assert row.largest_units == pytest.approx(steps - 0.3)
    assert row.is_sound is is_sound


def test_a_row_with_nan_is_not_sound_and_can_be_written():
    row = verify.Row("encode", "float32", "0", "one unit")
    exact = Exact(np.array([0.3]), np.array([0.0]))
    at = scale(exact, torch.float32)

    row.add(errors_of(torch.tensor([math.nan]), exact, at), at, next(units(1, seed=0)), 0)

    assert not row.is_sound
    assert json.loads(json.dumps(row.document(), allow_nan=False))["largest_units"] is None


@pytest.mark.parametrize("device", ["no-such", "meta", "cuda:99", ""])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(errors.InputError, match=r"got device .*, but wanted a device of this machine"):
        verify.measure(values=1, device=device)


def test_the_recipe_of_the_tutorials_misrounds_most():
    near, far = verify.measure_textbook()

    assert 0.85 < near["misrounded"] / near["values"] < far["misrounded"] / far["values"]
    # Frequency and phase are rounded a few times, each by 2^-24 of the phase in radians.
    assert 5e-5 < near["largest_absolute"] < 4 * 5_100 * 2.0**-24
    assert 0.1 < far["largest_absolute"] <= 2

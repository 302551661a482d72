"""`posenc verify --family rotary`: sound on this machine, and no wrong turn goes unseen."""

import json
import sys

import pytest
import torch
from tests.rotations import frequencies, judged, largest_ratio

from posenc import cli, rotate
from posenc.encoding.rotation import rotation_of
from posenc.errors import InputError
from posenc.verify import rotary
from posenc.verify.sample import NEAR

DTYPES = ["float32", "bfloat16", "float16"]


@pytest.fixture(autouse=True)
def narrow(request, monkeypatch):
    """A comparison that takes a second."""
    if "rows" not in request.fixturenames:
        monkeypatch.setattr(rotary, "DIMS", (8,))


@pytest.fixture(scope="module")
def rows():
    return rotary.measure(values=1, seed=3)


# What is judged.


def test_this_machine_is_right(rows):
    assert [row for row in rows if not row.is_sound] == []
    # Far smaller errors would mean that little was measured.
    assert min(row.largest_part for row in rows) > 0.1


def test_every_path_dtype_and_size_has_its_row(rows):
    kinds = {(row.path, row.dtype, row.near) for row in rows}

    assert kinds == {(path, dtype, near) for path in rotary.PATHS for dtype in DTYPES for near in NEAR}
    assert {"2^31", "2^63"} < set(NEAR)


def test_systems_that_differ_are_judged_once_at_each_width():
    found = rotary.fitting()

    assert {name for name, *_ in found} == {"llama", "gptj-rotary", "gpt-neox-rotary", "cohere"}
    assert {dim for *_, dim in found} == set(rotary.DIMS)
    assert len(found) == 4 * len(rotary.DIMS)


@pytest.mark.parametrize("values", [1, 100_000])
def test_there_are_as_many_values_as_were_asked_for(values):
    chosen = list(rotary.units(values, seed=0))
    total = sum(unit.length * len(unit.anchors) * unit.dim for unit in chosen)

    assert values <= total <= values * 1.2 + len(NEAR) * sum(unit.dim for unit in chosen)
    ends = [(anchor, anchor + unit.length - 1) for unit in chosen for anchor in unit.anchors]
    assert min(ends)[0] >= -(2**63)
    assert max(ends)[1] < 2**63


def test_the_seed_decides():
    assert rotary.measure(values=1, seed=3) == rotary.measure(values=1, seed=3)
    assert rotary.measure(values=1, seed=3) != rotary.measure(values=1, seed=4)


def test_progress_is_told_to_the_end():
    heard = []
    rotary.measure(values=5_000, on_values=lambda done, total: heard.append((done, total)))

    assert heard == sorted(heard)
    assert heard[-1] == (5_000, 5_000)


def parts(x, made, start, rotation):
    """Errors in parts of the bound."""
    cosines, sines = rotary.exact_turns([start], len(x), rotation)
    return rotary.judged(x, made, cosines[0], sines[0], rotation)[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_judge_is_that_of_arbitrary_precision(dtype):
    x, start = torch.randn(12, 64).to(dtype), 2**31 + 5
    made = rotate(x, range(start, start + 12))
    part = parts(x, made, start, rotation_of(rotary.systems["llama"].convention, 64))
    true = judged(x, range(start, start + 12), frequencies(64), "halves")

    # Products and a sum of float64 in the one, 2^-53 of numbers whose bound is 2^-24 of them.
    assert part.max() == pytest.approx(largest_ratio(made, true), abs=2.0**-26)


# What is found.


def off_by(factor, right):
    """The same function, its first value wrong by a part of itself."""

    def wrong(*arguments, **options):
        made = right(*arguments, **options).clone()
        made.view(-1)[0] *= 1 + factor
        return made

    return wrong


@pytest.mark.parametrize("path", rotary.PATHS)
def test_one_wrong_value_is_found_and_placed(monkeypatch, path):
    monkeypatch.setitem(rotary.PATHS, path, off_by(2.0**-5, rotary.PATHS[path]))
    broken = [row for row in rotary.measure(values=1) if not row.is_sound]

    assert {row.path for row in broken} == {path}
    assert {row.dtype for row in broken} == set(DTYPES)
    assert {row.worst["column"] for row in broken} == {0}


def test_turns_the_other_way_are_found(monkeypatch):
    monkeypatch.setattr(rotary, "rotate", lambda x, positions, rule: rotate(x, -positions, rule))
    assert {row.path for row in rotary.measure(values=1) if not row.is_sound} == {"rotate"}


def test_columns_that_do_not_turn_may_not_change():
    x = torch.randn(2, 128)
    rotation = rotation_of(rotary.systems["gpt-neox-rotary"].convention, 128)
    made = rotate(x, [0, 1], "gpt-neox-rotary")
    assert parts(x, made, 0, rotation).max() <= 1

    made[1, -1] = made[1, -1].nextafter(torch.tensor(9.0))
    assert parts(x, made, 0, rotation)[1, -1] == float("inf")
    made[1, -1] = torch.nan
    assert parts(x, made, 0, rotation)[1, -1] == float("inf")


def test_float32_arithmetic_is_beyond_the_bound():
    near, far = rotary.measure_released(100), rotary.measure_released(100_000)

    assert 0.1 < near["beyond"] / near["values"] < far["beyond"] / far["values"]
    assert near["largest_absolute"] < 1e-3 < far["largest_absolute"]


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="a device of this machine"):
        rotary.measure(values=1, device="cuda:99")


# What is printed.


def run(*arguments):
    """Exit code of the command line, in this process."""
    before, sys.argv = sys.argv, ["posenc", "verify", "--family", "rotary", "--values", "1", *arguments]
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code
    finally:
        sys.argv = before


def test_the_command_says_that_all_is_well(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run() == 0

    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 80
    assert "Every bound holds" in said.out
    assert "BROKEN" not in said.out
    assert said.err == ""


def test_the_command_tells_bad_news(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(rotary.PATHS, "module", off_by(1.0, rotary.PATHS["module"]))

    assert run() == 1

    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert "A bound is broken" in said
    assert "module, bfloat16, positions near 2^31" in said


def test_json_is_one_document(capsys, monkeypatch):
    assert run("--json", "--seed", "5") == 0

    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert (document["command"], document["family"], document["seed"]) == ("verify", "rotary", 5)
    assert document["sound"] is True
    assert len(document["rows"]) == len(rotary.PATHS) * 3 * len(NEAR)
    assert document["values"] == sum(row["values"] for row in document["rows"][: len(NEAR)])
    monkeypatch.setitem(rotary.PATHS, "rotate", lambda x, *_: x * torch.nan)
    assert run("--json") == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["largest_part"] is None


@pytest.mark.parametrize("arguments", [("--device", "no-such"), ("--family", "bias")])
def test_wrong_usage_ends_with_two(arguments, capsys):
    assert run(*arguments) == 2

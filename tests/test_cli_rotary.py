"""What `posenc conventions` says of rotary names, and that it is true."""

import dataclasses
import json
import math
import re
import sys

import pytest
import torch
from tests.named import ROTARY, TABLES
from tests.test_convention_words import evaluated

from posenc import Convention, cli, conventions
from posenc.cli.convention_facts import equals, facts
from posenc.cli.convention_words import stretch, turning
from posenc.convention import systems
from posenc.encoding.rotary import rotate
from posenc.frequency import Stretch

YARN = (
    "by the turns of a pair in 4096 positions: up to 1 w is divided by 4, from 32 on it stays, between the part that "
    "stays rises evenly with the pair"
)


@pytest.fixture
def run(monkeypatch, capsys):
    """The page of the command: run(arguments...) -> its text."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", "conventions", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert not stopped.value.code
        return capsys.readouterr().out

    return call


# The list and the pages.


def test_rotary_names_are_listed_by_all_that_they_are(run):
    out = run("--search", "rotary")

    assert "17 names, 10 encodings" in out
    assert "   halves; base 10000\n      llama, diffusers-rotary-half, labml-rotary\n" in out
    assert "   halves; base 10000; turns 0.5 of a head\n      gpt-neox-rotary\n" in out
    assert "   interleaved; base 500000; stretched by llama3 factor 8 trained 8192\n      torchtune-llama3\n" in out
    # Spellings of a name are no other names.
    assert "rope-" not in out


def test_llama_is_explained_by_its_pairs(run):
    lines = run("llama").splitlines()

    assert "   turns      (a, b) to (a cos v - b sin v, b cos v + a sin v), v = w_k * p" in lines
    assert "   dim 64     w_k = 10000^(-k / 32), k = 0 .. 31" in lines
    assert "   pairs      (x0, x32) by w0, (x1, x33) by w1, ..., (x31, x63) by w31" in lines
    assert "   equal      diffusers-rotary-half, labml-rotary" in lines
    assert '   use        posenc.RotaryEmbedding(dim, "llama")' in lines


def test_a_part_of_a_head_is_explained_by_what_stays(run):
    lines = run("gpt-neox-rotary", "--dim", 32).splitlines()

    assert "   pairs      (x0, x8) by w0, (x1, x9) by w1, ..., (x7, x15) by w7" in lines
    assert "              x16 to x31 stay as they are" in lines
    assert "stay as they are" not in run("llama")


def test_axes_that_turn_are_explained_one_by_one(run):
    out = " ".join(run("timm-axial-2d", "--dim", 16).split())

    assert "v = w_k * p, for each p of (row, column)" in out
    assert (
        "pairs (x0, x1) by w0 row, (x2, x3) by w1 row, ..., (x8, x9) by w0 column, (x10, x11) by w1 column, ..., "
        "(x14, x15) by w3 column the width that turns is a multiple of 4"
    ) in out
    least = " ".join(run("timm-axial-2d", "--dim", 4).split())
    assert "pairs (x0, x1) by w0 row, (x2, x3) by w0 column the width" in least


def test_a_ladder_that_is_stretched_has_its_rule_and_no_recipe(run):
    out = run("torchtune-llama3")

    assert "stretched: by the turns of a pair in 8192 positions: up to 1 w is" in out
    assert "released " not in out
    assert "released " in run("rotary-embedding-torch-ntk4-interp2")


def test_accuracy_of_a_search_leaves_rotary_names_out(run):
    found = json.loads(run("--search", "simplepe", "--json"))["conventions"]
    measured = json.loads(run("--search", "simplepe", "--accuracy", "--json"))["accuracy"]

    assert [each["name"] for each in found] == ["simplepe", "simplepe-rotary"]
    assert [each["name"] for each in measured] == ["simplepe"]


# What is said is true.


def test_rotary_names_of_one_line_are_one_rotation():
    for name in ROTARY:
        for other in ROTARY:
            if turning(conventions[name]) == turning(conventions[other]):
                assert dataclasses.replace(conventions[name], arithmetic="exact") == conventions[other]


def stretched(said, frequencies):
    """The frequencies of the formula after the rule that is printed beside it."""
    if said is None:
        return frequencies
    grown = re.match(r"the base becomes (.+) for n pairs$", said)
    if grown:
        n = len(frequencies)
        base = eval(grown.group(1).replace("^", "**"), {"n": n})
        return [base ** (-k / n) for k in range(n)]
    rule = re.match(
        r"by the turns of a pair in (\d+) positions: up to (\d+) w is divided by (\d+), from (\d+) on", said
    )
    trained, low, factor, high = map(int, rule.groups())
    kept = [min(max((w * trained / (2 * math.pi) - low) / (high - low), 0), 1) for w in frequencies]
    return [w * (share + (1 - share) / factor) for w, share in zip(frequencies, kept, strict=True)]


@pytest.mark.parametrize("dim", [16, 64])
@pytest.mark.parametrize("name", ROTARY)
def test_the_pairs_that_are_printed_are_what_turns(name, dim):
    """Nothing but what the page says goes into the expected head."""
    said = facts(systems[name], dim)
    axes = said["positions"]
    position = {axis: 3 + 4 * i for i, axis in enumerate(axes)} if axes else {None: 3}
    bands = {band["axis"]: band for band in said["bands"]}
    ladders = {
        axis: stretched(said["stretch"], [evaluated(band["formula"], k) for k in range(band["pairs"])])
        for axis, band in bands.items()
    }
    x = torch.linspace(-1, 1, dim, dtype=torch.float64)

    expected = x.tolist()
    for pair in said["pairs"]:
        a, b, k, axis = re.match(r"\(x(\d+), x(\d+)\) by w(\d+) ?(\w+)?$", pair).groups()
        v = eval(said["angle"], {"w_k": ladders[axis][int(k)], "p": position[axis]})
        a, b, c, s = int(a), int(b), math.cos(v), math.sin(v)
        expected[a], expected[b] = (x[a] * c - x[b] * s).item(), (x[b] * c + x[a] * s).item()
    places = torch.tensor([list(position.values())] if axes else [3])

    assert rotate(x.view(1, dim), places, name)[0].tolist() == pytest.approx(expected, abs=1e-12)
    assert len(said["pairs"]) * 2 == said["rotary_dim"]
    for axis, band in bands.items():
        assert band["frequencies"] == pytest.approx(
            [w * conventions[name].position_scale for w in (ladders[axis][0], ladders[axis][-1])]
        )


def test_equal_rotary_names_turn_alike_and_equal_no_table():
    same, free = equals(64, "kept"), equals(64, "free")
    x = torch.linspace(-1, 1, 64, dtype=torch.float64).view(1, 64)

    def turned(name):
        return rotate(x, [[3, 7]] if conventions[name].axes else [3], name)

    for name in ROTARY:
        alike = [o for o in ROTARY if o != name and torch.equal(turned(o), turned(name))]
        assert same[name] == free[name] == alike
    assert same["llama"] == ["diffusers-rotary-half", "labml-rotary"]
    assert not {other for name in TABLES for other in free[name]} & set(ROTARY)
    # Also at a width that none of them knows.
    assert equals(7, "kept")["llama"] == same["llama"]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Stretch(kind="linear", factor=4), "every w is divided by 4"),
        (Stretch(kind="ntk", factor=2.5), "the base becomes 500 * 2.5^(n / (n - 1)) for n pairs"),
        (
            Stretch(kind="dynamic", factor=4, trained=2048),
            "the base becomes 500 * (4 * L / 2048 - 3)^(n / (n - 1)) for n pairs and a length L beyond 2048",
        ),
        (
            Stretch(kind="yarn", factor=4, trained=4096),
            YARN,
        ),
        (
            Stretch(kind="longrope", trained=4096, short=(1.0, 2.0), long=(3.0, 4.0)),
            "every w is divided by a factor of its own, by others beyond 4096 positions",
        ),
        (
            Stretch(kind="proportional", turning=3),
            "every w is divided by 1, and beyond the first 3 pairs is 0",
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Stretch) else "",
)
def test_any_rule_has_its_sentence(rule, said):
    assert stretch(Convention(base=500, stretch=rule)) == said

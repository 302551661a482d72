"""What is said of conventions in words is true: formula, columns, equals, and the lines to paste."""

import dataclasses
import math
import re

import pytest
import torch
from tests.named import ROTARY, TABLES

import posenc
from posenc import Convention, conventions, encode
from posenc.cli.convention_facts import PATTERN, equals, facts
from posenc.cli.convention_words import angle, differs, frequency, number, turning
from posenc.convention import fitting_dim, systems
from posenc.convention.options import AXES
from posenc.frequency import Stretch
from posenc.modules.rotary import RotaryEmbedding

NAMES = list(systems)
KNOWN = [name for name in TABLES if conventions[name].spacing != "explicit"]


def test_systems_of_one_line_differ_from_the_paper_in_the_same():
    for system in systems.values():
        for other in systems.values():
            if system.subject == other.subject and differs(system.convention) == differs(other.convention):
                a, b = (
                    dataclasses.replace(each.convention, state_names=(), arithmetic="exact") for each in (system, other)
                )
                assert a == b, (system.name, other.name)
                assert turning(a) == turning(b)


@pytest.mark.parametrize("name", NAMES)
def test_the_constructor_builds_it_again(name):
    built = eval(facts(systems[name], None)["constructor"], {"Convention": Convention, "Stretch": Stretch})

    assert built == conventions[name]
    assert (built.name, built.released_as) == (name, conventions[name].released_as)


@pytest.mark.parametrize("name", NAMES)
def test_the_line_to_paste_runs(name):
    said = facts(systems[name], None)
    axes = len(said["positions"] or ()) or 1
    given = {
        "posenc": posenc,
        "dim": said["dim"],
        "d_model": said["dim"],
        "w": torch.ones(axes, 4) if axes > 1 else torch.ones(4),
        "positions": torch.arange(3),
        "distances": torch.arange(-3, 3),
        "points": torch.rand(3, axes),
        **dict.fromkeys(("rows", "columns", "frames", "planes"), 3),
    }

    made = eval(said["paste"], given)

    assert f'"{name}"' in said["paste"]
    if isinstance(made, torch.Tensor):
        assert made.shape[-1] == said["dim"]
    assert isinstance(made, RotaryEmbedding) == (name in ROTARY)


def evaluated(formula, k):
    """The frequency of pair k by the formula that is printed."""
    plain = re.sub(r"(\d+) pi", r"\1 * pi", formula)
    between = re.match(r"w_k goes (evenly|by one ratio) from (.+) to (.+), k = 0 \.\. (\d+)$", plain)
    if between:
        how, first, last, end = between.groups()
        first, last, share = eval(first, {"pi": math.pi}), eval(last, {"pi": math.pi}), k / int(end)
        return first + (last - first) * share if how == "evenly" else first * (last / first) ** share
    return eval(plain.split(" = ")[1].split(", ")[0].replace("^", "**"), {"k": k, "j": k, "pi": math.pi})


@pytest.mark.parametrize("name", KNOWN)
def test_the_formula_and_the_columns_that_are_printed_are_the_encoding(name):
    """Nothing but what the page says goes into the expected row."""
    convention = conventions[name]
    dim = len(facts(systems[name], None)["columns"])
    said = facts(systems[name], dim)
    axes = said["positions"]
    position = {axis: 0.25 + 0.125 * i for i, axis in enumerate(axes)} if axes else {"": 3}
    turn = re.sub(r"(\d) pi", r"\1 * pi", said["angle"]).replace("|p|", "abs(p)")
    bands = {band["axis"] or "": band for band in said["bands"]}

    row = []
    for column in said["columns"]:
        if column in ("p", *position):
            row.append(position.get(column, 3))
            continue
        member, pair, *axis = column.split()
        place = "".join(axis)
        frequency = evaluated(bands[place]["formula"], int(pair[1:]))
        angle = eval(turn, {"w_k": frequency, "w_j": frequency, "p": position[place], "pi": math.pi, "abs": abs})
        row.append(said["gain"] * (math.sin(angle) if member == "sin" else math.cos(angle)))
    plain = dataclasses.replace(convention, standardised_rows=None, zero_rows=())
    made = encode(list(position.values()) if axes else 3, dim, plain, dtype=torch.float64)

    assert dim == said["dim"] >= PATTERN
    assert made.tolist() == pytest.approx(row, abs=1e-9)


# posenc.wavelengths refuses axes of unlike widths.
@pytest.mark.parametrize("name", [name for name in KNOWN if not conventions[name].axis_shares])
def test_frequencies_and_wavelengths_are_those_of_the_library(name):
    said = facts(systems[name], None)
    waves = posenc.wavelengths(said["dim"], name).reshape(len(said["bands"]), -1)

    for band, wave in zip(said["bands"], waves, strict=True):
        assert band["wavelengths"] == pytest.approx([wave[0].item(), wave[-1].item()])
        assert band["frequencies"] == pytest.approx([2 * math.pi / each for each in band["wavelengths"]])


def values(name, position):
    """What decides whether two systems are equal: the numbers themselves, at two positions."""
    c = dataclasses.replace(conventions[name], zero_rows=())
    dim = fitting_dim(c, 64)
    axes = sorted(c.axes, key=AXES.index)
    places = torch.tensor([[0.3, 0.45, 0.7, 0.9][: len(axes)], [0.11] * len(axes)] if axes else [position, 40.0])
    rows = encode(places.double(), dim, c, dtype=torch.float64)
    return (len(axes), dim, *rows.flatten().mul(2**30).round().tolist())


def test_equal_systems_are_those_of_equal_values():
    same = equals(64, "kept")
    found = {name: values(name, -3.0) for name in KNOWN}

    for name in KNOWN:
        theirs = {other for other in KNOWN if other != name and found[other] == found[name]}
        assert set(same[name]) <= theirs, name
        for other in theirs - set(same[name]):
            a, b = conventions[name], conventions[other]
            # Equal in `encode`, and yet not one system: maps are cut into other coordinates, or rows are zero.
            unlike = {(c.cells, c.cell_origin, c.trained_size, c.zero_rows) for c in (a, b)}
            named_apart = a.axes != b.axes and sorted(a.axes, key=AXES.index) != sorted(b.axes, key=AXES.index)
            assert len(unlike) == 2 or named_apart, (name, other)


def test_equal_up_to_the_start_are_those_that_an_offset_makes_equal():
    free = equals(64, "free")

    assert {"fairseq", "xglm", "tensor2tensor"} <= set(free["openai-whisper"])
    assert not {"fairseq", "xglm"} & set(equals(64, "kept")["openai-whisper"])
    assert "detr-2d" not in free["openai-whisper"]
    rows = {
        name: encode(7 - conventions[name].position_offset, 60, name, dtype=torch.float64)
        for name in KNOWN
        if not conventions[name].axes
    }
    for name, row in rows.items():
        for other in free[name]:
            assert torch.allclose(row, rows[other], rtol=0, atol=1e-14), (name, other)


def test_the_smallest_width_has_its_facts_too():
    # Beside names that know only wider ones.
    said = facts(systems["transformer"], 2)

    assert (said["dim"], said["bands"][0]["frequencies"]) == (2, [1, 1])


# Words.


@pytest.mark.parametrize(
    ("value", "said"),
    [(math.pi, "pi"), (2 * math.pi, "2 pi"), (1.5, "1.5"), (10000, "10000"), (0.01, "0.01"), (1e-6, "1e-6"), (0, "0")],
)
def test_numbers_are_short(value, said):
    assert number(value) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"base": 500}, ["base 500"]),
        ({"last": 0.001}, ["ladder without its end", "frequencies by one ratio from 1 to 0.001"]),
        ({"last": 0.001, "endpoint_shift": 1}, ["frequencies by one ratio from 1 to 0.001"]),
        ({"last": 9, "endpoint_shift": 0.5}, ["ladder's end moved by 0.5", "frequencies by one ratio from 1 to 9"]),
        ({"position_offset": -2}, ["positions - 2"]),
        ({"gain": 0.5}, ["values times 0.5"]),
        ({"axes": ("row", "column"), "cells": "centres"}, ["row, column", "cells by their centres"]),
        ({"axes": ("row", "column"), "cells": "first-to-last"}, ["row, column", "cells from the first to the last"]),
        ({"axes": ("x", "y"), "position_offset": (1, 2)}, ["x, y", "positions + (1, 2)"]),
        ({"spacing": "explicit", "frequencies": (1.0, 0.5)}, ["frequencies given"]),
        ({"spacing": "powers", "base": 3}, ["frequencies 0.3333333^k"]),
        ({"include_input": "suffix"}, ["input behind"]),
        ({"rotary_dim": 64}, ["turns 64 columns"]),
        ({"rotary_dim": 0.25}, ["turns 0.25 of a head"]),
        ({"stretch": Stretch(kind="linear", factor=4)}, ["stretched by linear factor 4"]),
        (
            {"stretch": Stretch(kind="yarn", factor=4, trained=4096, ramp="real")},
            ["stretched by yarn factor 4 trained 4096 ramp real"],
        ),
    ],
)
def test_any_convention_has_its_words(options, said):
    assert differs(Convention(**options)) == said


LADDERS = [
    {"last": 0.001},
    {"last": 0.001, "first": 2, "endpoint_shift": 0.5},
    {"last": 8, "endpoint_shift": 1, "spacing": "linear"},
    {"last": 8, "first": 3, "spacing": "linear"},
    {"base": 3, "first": 2, "spacing": "powers"},
    {"base": 0.125, "first": 2, "endpoint_shift": 0.25},
]


@pytest.mark.parametrize("options", LADDERS, ids=str)
def test_any_ladder_has_its_formula(options):
    convention = Convention(**options)
    ladder = convention.plan(10).blocks[0].ladder
    made = [evaluated(frequency(convention, 5, float(ladder.span)), k) for k in range(5)]

    assert [2 * math.pi / each for each in made] == pytest.approx(posenc.wavelengths(10, convention).tolist(), rel=1e-6)


def test_an_angle_is_written_as_it_is_taken():
    assert angle(Convention(position_scale=-1), "p") == "w_k * (0 - p)"
    assert angle(Convention(position_offset=0.5, position_scale=3), "p") == "w_k * 3 * (p + 0.5)"

"""The record that describes an encoding: what it holds, how it is written, copied and compared."""

import copy
import dataclasses
import json
import pickle
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from tests.named import ready
from tests.strategies import conventions as any_convention
from tests.strategies import dims, encodings, modest

from posenc import Convention, conventions, encode, wavelengths
from posenc.convention import check_dim, fitting_dim
from posenc.errors import ConventionError, PosencError
from posenc.frequency import Stretch

IMAGE = ("row", "column")
# For every option another value than that of the paper, and what must stand beside it.
OTHER = {
    "base": (500, {}),
    "first": (2, {}),
    "last": (1e-3, {}),
    "endpoint_shift": (1, {}),
    "spacing": ("powers", {}),
    "frequencies": ((1.0, 0.5), {"spacing": "explicit"}),
    "layout": ("halves", {}),
    "order": ("cosine-first", {}),
    "odd": ("pad", {}),
    "pairing": ("columns", {}),
    "axes": (IMAGE, {}),
    "axis_layout": ("inner", {"axes": IMAGE}),
    "axis_shares": ((1, 2), {"axes": IMAGE}),
    "position_offset": (2, {}),
    "position_scale": (-1, {}),
    "position_sign": ("dropped", {}),
    "cells": ("centres", {"axes": IMAGE}),
    "cell_origin": (0.5, {"axes": IMAGE, "cells": "fractions"}),
    "cell_epsilon": (1e-6, {"axes": IMAGE, "cells": "fractions"}),
    "trained_size": (16, {"axes": IMAGE}),
    "gain": ("inverse-root", {}),
    "zero_rows": ((0,), {}),
    "include_input": ("prefix", {}),
    "rotary_dim": (0.5, {}),
    "stretch": (Stretch(kind="yarn", factor=4, trained=4096), {}),
    "standardised_rows": (512, {"odd": "refuse"}),
    "numbering": ("tokens", {}),
    "state_names": (("weight",), {}),
    "arithmetic": ("exp", {}),
    "released_as": ("exp", {}),
    "name": ("mine", {}),
}
# Where something is said, not where values come from.
UNCOMPARED = {"released_as", "name"}
MINE = Convention(
    base=500,
    axes=("time", "column", "row"),
    position_offset=(0, 1, 2.5),
    zero_rows=(0,),
    state_names=("weight",),
    released_as="exp",
    name="mine",
)


def test_a_convention_is_frozen_and_keyword_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Convention().base = 1
    with pytest.raises(TypeError):
        Convention(500)
    with pytest.raises(TypeError):
        Convention(period=500)


def test_there_are_no_other_options():
    assert {field.name for field in dataclasses.fields(Convention)} == set(OTHER)


@pytest.mark.parametrize("option", OTHER)
def test_every_option_that_decides_values_is_part_of_equality(option):
    value, beside = OTHER[option]
    plain, other = Convention(**beside), Convention(**beside, **{option: value})

    assert (other == plain) == (option in UNCOMPARED)
    assert other == Convention(**beside, **{option: value})
    assert hash(other) == hash(Convention(**beside, **{option: value}))
    assert repr(other) != repr(plain)


def round_trips(convention: Convention) -> None:
    """Text, dictionary, JSON, copies and pickles all give the convention back."""
    written = convention.to_dict()
    for again in (
        eval(repr(convention), {"Convention": Convention, "Stretch": Stretch}),
        Convention.from_dict(written),
        Convention.from_dict(json.loads(json.dumps(written, allow_nan=False))),
        copy.copy(convention),
        copy.deepcopy(convention),
        pickle.loads(pickle.dumps(convention)),
        dataclasses.replace(convention),
    ):
        assert again == convention
        assert hash(again) == hash(convention)
        assert (again.name, again.released_as) == (convention.name, convention.released_as)
        assert repr(again) == repr(convention)
        assert again.to_dict() == written


@modest
@given(case=encodings())
def test_any_convention_makes_the_round_trips(case):
    round_trips(case[0])


@pytest.mark.parametrize("option", OTHER)
def test_every_option_makes_the_round_trips(option):
    value, beside = OTHER[option]

    round_trips(Convention(**beside, **{option: value}))


@pytest.mark.parametrize("name", conventions)
def test_every_name_makes_the_round_trips(name):
    round_trips(conventions[name])
    round_trips(conventions[name].as_released())


def test_what_is_said_is_what_differs_from_the_paper():
    assert repr(Convention()) == "Convention()"
    assert Convention().to_dict() == {}
    assert repr(Convention(base=10000.0, layout="halves")) == "Convention(layout='halves')"
    assert Convention(axes=IMAGE, last=(1, 2)).to_dict() == {"axes": ["row", "column"], "last": [1, 2]}


def test_a_label_is_a_name_or_a_text():
    assert Convention(base=500).label == "Convention(base=500)"
    assert MINE.label == "'mine'"
    assert MINE.as_released().label == "'mine' as released"


def test_a_dictionary_may_hold_lists():
    options = {"spacing": "explicit", "frequencies": [[1, 2], [3, 4]], "axes": ["row", "column"]}

    assert Convention.from_dict(options).frequencies == ((1, 2), (3, 4))


def test_copies_work_after_use():
    # What is kept on the way must not travel wrongly.
    convention = Convention(layout="halves", name="mine")
    convention.ladder(8).steps  # noqa: B018
    for again in (copy.deepcopy(convention), pickle.loads(pickle.dumps(convention))):
        assert again.ladder(8) == convention.ladder(8)
        assert torch.equal(encode(3, 8, again), encode(3, 8, convention))


@pytest.mark.parametrize("name", conventions)
def test_as_released_changes_the_arithmetic_alone(name):
    released = ready(name).as_released()

    assert released.arithmetic == conventions[name].released_as
    assert dataclasses.replace(released, arithmetic="exact") == ready(name)
    assert released.as_released() is released


def test_as_released_wants_a_system():
    assert Convention(arithmetic="exp").as_released().arithmetic == "exp"
    with pytest.raises(ConventionError, match="whose arithmetic is known"):
        Convention().as_released()
    with pytest.raises(ConventionError, match="first=1, which it takes for granted"):
        dataclasses.replace(conventions["marian"], first=2).as_released()


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (torch.tensor([1.0, 0.1]), (1.0, float(torch.tensor(0.1)))),
        (torch.tensor([1, 2], dtype=torch.bfloat16), (1.0, 2.0)),
        (torch.nn.Parameter(torch.tensor([0.5])), (0.5,)),
        ([1, 0.1], (1, 0.1)),
        ((1, 0.1), (1, 0.1)),
    ],
    ids=str,
)
def test_with_frequencies_takes_what_models_hold(given, held):
    assert conventions["gaussian-fourier"].with_frequencies(given).frequencies == held
    assert Convention().with_frequencies(given).spacing == "explicit"


def test_with_frequencies_takes_a_row_for_each_axis():
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    sam = conventions["sam"].with_frequencies(matrix)

    assert sam.frequencies == ((1.0, 2.0), (3.0, 4.0))
    assert sam == conventions["sam"].with_frequencies([[1, 2], (3, 4)])
    assert (sam.name, sam.released_as) == ("sam", "turns")


@modest
@given(convention=any_convention(), dim=dims(4))
def test_columns_and_ladder_fit_the_width(convention, dim):
    columns, ladder = convention.columns(dim), convention.ladder(dim)

    assert columns.dim == dim
    assert columns.pairs == ladder.pairs == len(ladder.steps)
    assert (columns.layout, columns.order) == (convention.layout, convention.order)
    assert ladder.offset == Fraction(convention.position_offset)


@modest
@given(case=encodings())
def test_the_columns_of_all_blocks_are_apart(case):
    convention, dim = case
    plan = convention.plan(dim)
    taken = [column for _, column in plan.inputs]
    for block in plan.blocks:
        for part in (block.columns.sines, block.columns.cosines):
            taken += range(plan.width)[part]

    assert len(taken) == len(set(taken))
    assert plan.width >= dim
    # What is not taken is left for zeros, and stands at the end.
    assert sorted(taken) == list(range(len(taken)))


# dim 5: pairs, span, columns of zeros.
ODD = {"truncate": (3, Fraction(5, 2), 0), "pad": (2, Fraction(2), 1), "round-up": (3, Fraction(3), 0)}


@pytest.mark.parametrize(("odd", "expected"), ODD.items())
@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_odd_widths_by_hand(odd, expected, layout):
    convention = Convention(odd=odd, layout=layout)
    columns, ladder = convention.columns(5), convention.ladder(5)
    zeros = len(range(5)[columns.spare])

    assert (ladder.pairs, ladder.span, zeros) == expected
    assert convention.ladder(4).span == 2


def test_dim_one():
    assert Convention().ladder(1).pairs == 1
    assert Convention(odd="round-up").columns(1).pairs == 1
    with pytest.raises(ConventionError, match="at least one pair"):
        Convention(odd="pad").columns(1)


@pytest.mark.parametrize("shift", [0, 0.5, 1])
def test_the_end_of_the_ladder(shift):
    # The pair at span - shift, were there one, has first / base.
    waves = wavelengths(16, Convention(base=4096, endpoint_shift=shift))
    ratio = 4096 ** (1 / (8 - shift))

    assert (waves[1:] / waves[:-1]).tolist() == pytest.approx([ratio] * 7, rel=1e-14)


def test_one_pair_has_the_first_frequency_whatever_the_shift():
    assert Convention(endpoint_shift=1).ladder(2).steps == Convention().ladder(2).steps


def test_a_shift_beyond_the_ladder_is_refused():
    Convention(endpoint_shift=3).ladder(8)
    with pytest.raises(ConventionError, match="below 4"):
        Convention(endpoint_shift=4).ladder(8)


def test_a_width_may_be_anything_that_counts():
    class Width:
        def __index__(self):
            return 8

    assert check_dim(Width()) == 8
    for wrong in (0, -1, True, 8.0, "8", None):
        with pytest.raises(PosencError):
            check_dim(wrong)


@pytest.mark.parametrize(
    ("name", "widest", "expected"),
    [
        ("transformer", 512, 512),
        ("nerf", 64, 63),
        ("openai-whisper", 63, 62),
        ("diffusers-3d", 60, 48),
        ("nerf", 4, 9),
        ("diffusers-3d", 4, 16),
    ],
)
def test_the_width_is_the_widest_that_fits(name, widest, expected):
    assert fitting_dim(conventions[name], widest) == expected

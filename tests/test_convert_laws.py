"""Convert is a permutation with an inverse: for all names, for drawn conventions, and not for broken ones."""

import dataclasses
import importlib
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conversions import FAMOUS, as_columns, law

from posenc import Convention, conventions, convert
from posenc.errors import ConventionError

# The public function has the name of its package.
inside = importlib.import_module("posenc.encoding.conversion.columns")

AXES = {2: ("row", "column"), 3: ("x", "y", "z")}
modest = settings(deadline=None, max_examples=60, derandomize=True)


PLAIN = [
    name
    for name, convention in conventions.items()
    # Explicit frequencies are the caller's; a standardised mean depends on the order of a sum; parts have no rows.
    if convention.spacing != "explicit" and not convention.standardised_rows and convention.rotary_dim is None
]
WIDTH = 48


def test_names_are_converted_where_values_are_the_same_and_only_there():
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in PLAIN:
        convention = conventions[name]
        cells = (convention.cells, str(convention.cell_origin), str(convention.trained_size))
        kinds.setdefault((*sorted(convention.axes), *cells), []).append(name)
    moved = refused = 0
    for names in kinds.values():
        # One name speaks for all that hold the same columns.
        speakers: list[tuple[str, list[tuple[float, ...]], int]] = []
        for name in names:
            convention = conventions[name]
            dim = WIDTH + len(convention.axes) * (convention.include_input != "none")
            columns = as_columns(convention, dim)
            equal = [speaker for speaker, values, _ in speakers if values == columns]
            for speaker in equal:
                law(speaker, name, dim)
                moved += 1
            for speaker, values, width in speakers:
                if values != columns and width == dim:
                    with pytest.raises(ConventionError):
                        convert(torch.zeros(dim), speaker, name)
                    refused += 1
            if not equal:
                speakers.append((name, columns, dim))
    assert moved > 70
    assert refused > 100


LAYOUTS = ["interleaved", "halves"]
ORDERS = ["sine-first", "cosine-first"]


def arrangements(axes: int, inputs: bool) -> st.SearchStrategy[dict[str, object]]:
    """Options that move columns and change none."""
    options: dict[str, st.SearchStrategy[object]] = {
        "layout": st.sampled_from(LAYOUTS),
        "order": st.sampled_from(ORDERS),
    }
    if axes > 1:
        options["axes"] = st.permutations(AXES[axes]).map(tuple)
        options["axis_layout"] = st.sampled_from(["outer", "middle", "inner"])
    if inputs:
        options["include_input"] = st.sampled_from(["prefix", "suffix"])
    return st.fixed_dictionaries(options)


@st.composite
def moves(draw):
    """(source, target, dim) that differ in where columns stand, at a width that cuts none off."""
    axes, inputs = draw(st.sampled_from([1, 1, 2, 3])), draw(st.booleans())
    common = draw(
        st.fixed_dictionaries(
            {
                "base": st.sampled_from([10000, 2, 0.5, 500000.5]),
                "first": st.sampled_from([1, math.pi]),
                "endpoint_shift": st.sampled_from([0, 1, 0.5]),
                "odd": st.sampled_from(["truncate", "pad", "round-up"]),
                "position_offset": st.sampled_from([0, 2, -1, 0.5]),
                "position_scale": st.sampled_from([1, -1, 1000]),
                "gain": st.sampled_from([1, 0.5, "inverse-root"]),
            }
        )
    )
    pair = [Convention(**common, **draw(arrangements(axes, inputs))) for _ in range(2)]
    pairs = draw(st.integers(2, 9))
    spare = draw(st.integers(0, 2 * axes - 1)) if common["odd"] == "pad" else 0
    return (*pair, 2 * axes * pairs + spare + axes * inputs)


@modest
@given(moves())
def test_law_for_drawn_conventions(move):
    law(*move)


@modest
@given(moves(), st.data())
def test_what_changes_a_value_is_refused(move, data):
    source, target, dim = move
    option, value = data.draw(
        st.sampled_from(
            [
                ("base", 3),
                ("first", 1.0000000001),
                ("position_offset", 7),
                ("position_scale", -3),
                ("gain", 3),
                ("position_sign", "dropped"),
                ("endpoint_shift", 0.25),
            ]
        )
    )
    changed = dataclasses.replace(target, **{option: value})
    assume(as_columns(source, dim) != as_columns(changed, dim))

    with pytest.raises(ConventionError, match=r"but wanted .+; "):
        convert(torch.zeros(dim), source, changed)


def inverted(permutation):
    """The way back taken for the way there."""

    def wrong(source, target):
        found = permutation(source, target)
        return None if found is None else tuple(sorted(range(len(found)), key=found.__getitem__))

    return wrong


def untouched(permutation):
    """Nothing moves."""
    return lambda source, _target: tuple(range(len(source)))


def one_swap(permutation):
    """The last two columns change places."""

    def wrong(source, target):
        found = permutation(source, target)
        return found and (*found[:-2], found[-1], found[-2])

    return wrong


def kinds_alone(permutation):
    """Sines are told from cosines, and nothing more."""
    return lambda source, target: permutation([c[:1] for c in source], [c[:1] for c in target])


def steps_alone(permutation):
    """Frequencies are told apart, sines and cosines are not."""
    return lambda source, target: permutation([c[1:] for c in source], [c[1:] for c in target])


def starts_forgotten(permutation):
    """Offsets are overlooked."""
    return lambda source, target: permutation([c[:2] for c in source], [c[:2] for c in target])


@pytest.mark.parametrize(
    "mutant", [inverted, untouched, one_swap, kinds_alone, steps_alone, starts_forgotten], ids=lambda m: m.__name__
)
def test_a_wrong_permutation_is_caught(mutant, monkeypatch):
    inside._order.cache_clear()
    caught = 0
    with monkeypatch.context() as patch:
        patch.setattr(inside, "permutation", mutant(inside.permutation))
        for move in [*FAMOUS, ("fairseq", "tensor2tensor", 64)]:
            try:
                law(*move)
            except AssertionError:
                caught += 1
            except ConventionError:
                # The last one, which the sound one refuses too.
                continue
    inside._order.cache_clear()

    assert caught

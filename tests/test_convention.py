"""The record that describes an encoding, and the table of names."""

import copy
import dataclasses
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from tests.strategies import conventions as any_convention
from tests.strategies import dims, modest

from posenc import Convention, conventions, wavelengths
from posenc.convention import check_dim, resolve
from posenc.errors import ConventionError, PosencError, UnknownConventionError

NAMES = [
    "transformer",
    "tensor2tensor",
    "fairseq",
    "marian",
    "openai-whisper",
    "musicgen",
    "stable-diffusion-timestep",
    "positional-encodings",
]
ALIASES = {
    "annotated-transformer": "transformer",
    "pytorch-word-language-model": "transformer",
    "pytorch-lm-tutorial": "transformer",
    "tensor2tensor-timing-signal-1d": "tensor2tensor",
    "fairseq-sinusoidal": "fairseq",
    "hf-marian": "marian",
    "hf-musicgen": "musicgen",
    "diffusers-timestep-sd": "stable-diffusion-timestep",
    "positional-encodings-1d": "positional-encodings",
}
OTHER = {
    "base": 500,
    "first": 2,
    "endpoint_shift": 1,
    "layout": "halves",
    "order": "cosine-first",
    "odd": "pad",
    "position_offset": 2,
    "position_scale": -1,
    "numbering": "tokens",
    "state_names": ("weight",),
    "name": "mine",
}


def test_the_names():
    assert list(conventions) == NAMES
    assert len(conventions) == len(NAMES)


def test_the_first_is_the_paper():
    assert conventions["transformer"] == Convention()


@pytest.mark.parametrize("name", NAMES)
def test_a_convention_knows_its_name(name):
    assert conventions[name].name == name
    assert resolve(name) is conventions[name]
    assert resolve(conventions[name]) is conventions[name]


@pytest.mark.parametrize("name", [*NAMES, *ALIASES])
def test_underscores_and_aliases_are_found(name):
    canonical = ALIASES.get(name, name)

    assert conventions[name] is conventions[canonical]
    assert conventions[name.replace("-", "_")] is conventions[canonical]
    assert name.replace("-", "_") in conventions


@pytest.mark.parametrize("name", ["", "Transformer", "fairsq", "no-such-thing", 5, None])
def test_an_unknown_name_is_not_in_the_table(name):
    assert name not in conventions
    assert conventions.get(name) is None
    with pytest.raises(UnknownConventionError):
        conventions[name]


@pytest.mark.parametrize(("typed", "meant"), [("fairsq", "fairseq"), ("whisper", "openai-whisper")])
def test_the_nearest_name_is_offered(typed, meant):
    with pytest.raises(KeyError, match=repr(meant)):
        resolve(typed)


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        conventions["mine"] = Convention()


def test_a_convention_is_frozen_and_keyword_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Convention().base = 1
    with pytest.raises(TypeError):
        Convention(500)
    with pytest.raises(TypeError):
        Convention(period=500)


@pytest.mark.parametrize("option", OTHER)
def test_every_option_but_the_name_is_part_of_equality(option):
    other = Convention(**{option: OTHER[option]})

    assert (other == Convention()) == (option == "name")
    assert other == Convention(**{option: OTHER[option]})
    assert hash(other) == hash(Convention(**{option: OTHER[option]}))


def test_there_are_no_other_options():
    assert {field.name for field in dataclasses.fields(Convention)} == set(OTHER)


@modest
@given(convention=any_convention())
def test_the_text_builds_it_again(convention):
    again = eval(repr(convention), {"Convention": Convention})

    assert again == convention
    assert repr(again) == repr(convention)


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_named_one_builds_it_again(name):
    again = eval(repr(conventions[name]), {"Convention": Convention})

    assert (again, again.name) == (conventions[name], name)
    assert conventions[name].label == repr(name)


def test_the_label_of_a_nameless_one_is_its_text():
    assert Convention(base=500).label == "Convention(base=500)"


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_equal(carry):
    convention = Convention(**OTHER)
    convention.ladder(8).steps  # noqa: B018  # what is kept on the way must not travel wrongly
    again = carry(convention)

    assert again == convention
    assert again.name == convention.name
    assert again.ladder(8) == convention.ladder(8)


@modest
@given(convention=any_convention(), dim=dims(4))
def test_columns_and_ladder_fit_the_width(convention, dim):
    columns, ladder = convention.columns(dim), convention.ladder(dim)

    assert columns.dim == dim
    assert columns.pairs == ladder.pairs == len(ladder.steps)
    assert (columns.layout, columns.order) == (convention.layout, convention.order)
    assert ladder.offset == Fraction(convention.position_offset)


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


@pytest.mark.parametrize("dim", [1, 3, 5, 511])
def test_an_odd_width_may_be_refused(dim):
    with pytest.raises(ConventionError, match="even width"):
        conventions["openai-whisper"].columns(dim)


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


def test_the_end_may_be_taken_in():
    waves = wavelengths(512, Convention(endpoint_shift=1))

    assert (waves[-1] / waves[0]).item() == pytest.approx(10000, rel=1e-14)


def test_one_pair_has_the_first_frequency_whatever_the_shift():
    assert Convention(endpoint_shift=1).ladder(2).steps == Convention().ladder(2).steps


def test_a_shift_beyond_the_ladder_is_refused():
    Convention(endpoint_shift=3).ladder(8)
    with pytest.raises(ConventionError, match="below 4"):
        Convention(endpoint_shift=4).ladder(8)


@pytest.mark.parametrize(
    "number", [2**2000, float("nan"), float("inf"), True, "1", None, 1j], ids=lambda it: repr(it)[:9]
)
@pytest.mark.parametrize("option", ["base", "first", "endpoint_shift", "position_offset", "position_scale"])
def test_every_number_is_checked(option, number):
    with pytest.raises(ConventionError, match=option):
        Convention(**{option: number})


def test_a_width_may_be_anything_that_counts():
    class Width:
        def __index__(self):
            return 8

    assert check_dim(Width()) == 8
    for wrong in (0, -1, True, 8.0, "8", None):
        with pytest.raises(PosencError):
            check_dim(wrong)

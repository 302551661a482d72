"""A changed convention has no name: it says what it is."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import torch

import posenc
from posenc import Convention, conventions
from posenc.errors import ConventionError

WHISPER = conventions["openai-whisper"]
CHANGES = [
    lambda c, **changes: c.replace(**changes),
    dataclasses.replace,
]
if hasattr(copy, "replace"):
    CHANGES.append(copy.replace)
COPIES = {
    "itself": lambda c: c,
    "pickled": lambda c: pickle.loads(pickle.dumps(c)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "unchanged": lambda c: c.replace(),
    "from a dictionary": lambda c: Convention.from_dict(c.to_dict()),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_changed_convention_does_not_bear_the_name(change, copied):
    whisper = copied(WHISPER)
    changed = change(whisper, base=500.0)

    assert (whisper.name, changed.name) == ("openai-whisper", None)
    assert "openai-whisper" not in repr(changed) + changed.label
    assert "base=500.0" in changed.label
    assert (changed.base, changed.layout) == (500.0, "halves")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", conventions)
def test_no_option_can_be_changed_under_a_name(change, name):
    convention = conventions[name]
    for option, value in {"gain": 2, "state_names": ("other",), "position_offset": 77}.items():
        assert change(convention, **{option: value}).name is None


@pytest.mark.parametrize("change", CHANGES)
def test_a_name_stays_where_nothing_changes_and_is_taken_where_it_is_given(change):
    assert change(WHISPER, base=10000).label == "'openai-whisper'"
    assert change(WHISPER, base=500, name="ours").label == "'ours'"
    ours = change(WHISPER, base=500, name="ours")
    assert change(ours, base=400).name is None
    assert change(ours, gain=1).name == "ours"


@pytest.mark.parametrize("change", CHANGES)
def test_both_arithmetics_of_a_system_have_its_name(change):
    released = WHISPER.as_released()

    assert released.label == "'openai-whisper' as released"
    assert change(released, arithmetic="exact").label == "'openai-whisper'"
    assert change(WHISPER, arithmetic="recip-pow").name is None
    assert change(released, base=500).name is None


def test_frequencies_that_a_system_leaves_open_do_not_change_it():
    own = conventions["gaussian-fourier"].with_frequencies(torch.tensor([1.0, 2.0]))

    assert own.name == "gaussian-fourier"
    assert own.with_frequencies([3.0, 2.0]).name is None
    assert conventions["llama"].with_frequencies([3.0, 2.0]).name is None


def test_a_layer_says_what_was_changed():
    assert "base=500" in repr(posenc.PositionalEncoding(8, convention=WHISPER.replace(base=500)))
    assert "openai-whisper" not in repr(posenc.PositionalEncoding(8, convention=WHISPER.replace(base=500)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bass": 3}, "option 'bass', but wanted one of"),
        ({"_named": None}, "option '_named', but wanted one of"),
        ({"base": -1}, "base=-1"),
        ({"frequencies": (1.0,)}, "spacing='explicit'"),
        ({"last": 0.1, "base": 5}, "no base beside `last`"),
        ({"axis_shares": (1, 2)}, "several axes"),
    ],
)
def test_changes_are_refused_as_the_constructor_refuses_them(changes, words):
    with pytest.raises(ConventionError, match=words):
        WHISPER.replace(**changes)


LENT = {
    "built": lambda name: Convention(base=500, name=name),
    "replaced": lambda name: Convention(base=500).replace(name=name),
    "renamed": lambda name: conventions["fairseq"].replace(base=500, name=name),
    "replaced by dataclasses": lambda name: dataclasses.replace(Convention(base=500), name=name),
}


@pytest.mark.parametrize("lend", LENT.values(), ids=LENT)
@pytest.mark.parametrize("name", ["openai-whisper", "openai_whisper", "transformer", "hf-marian"])
def test_the_name_of_a_system_is_refused_for_other_values(lend, name):
    with pytest.raises(ConventionError) as caught:
        lend(name)
    assert str(caught.value) == (
        f"got name={name!r} with other options than that system's, but wanted its own options under the name of a "
        f"system; leave name out, pass another, or take posenc.conventions[{name!r}]."
    )


@pytest.mark.parametrize("name", conventions)
def test_the_constructor_line_of_a_system_builds_it_under_its_name(name):
    for convention in (conventions[name], conventions[name].as_released() if conventions[name].released_as else None):
        if convention is not None:
            again = eval(repr(convention), {"Convention": Convention, "Stretch": posenc.frequency.Stretch})
            assert (again, again.name, again.label) == (convention, name, convention.label)


def test_frequencies_that_a_system_leaves_open_may_be_built_under_its_name():
    own = conventions["gaussian-fourier"].with_frequencies(torch.tensor([1.0, 2.0]))

    assert eval(repr(own)).name == Convention.from_dict(own.to_dict()).name == "gaussian-fourier"


def test_a_dictionary_with_the_name_of_a_system_and_other_values_keeps_the_values():
    kept = Convention.from_dict({**WHISPER.to_dict(), "base": 500})

    assert (kept.base, kept.layout, kept.name) == (500, "halves", None)


def test_the_record_of_the_name_is_not_an_option():
    assert "_named" not in {field.name for field in dataclasses.fields(Convention)}
    assert "_named" not in repr(WHISPER)
    assert "_named" not in WHISPER.to_dict()
    with pytest.raises(ConventionError, match="_named"):
        Convention.from_dict({"_named": None})


@pytest.mark.parametrize(
    "frequencies",
    [
        torch.ones(3, device="meta"),
        torch.ones(3).to_sparse(),
        torch.nested.nested_tensor([torch.ones(3)], layout=torch.jagged),
        torch.ones(3, dtype=torch.complex64),
        torch.tensor(1.0),
        torch.ones(1, 1, 1),
        3.0,
        "1, 2",
    ],
    ids=["meta", "sparse", "nested", "complex", "scalar", "three axes", "float", "string"],
)
def test_frequencies_without_real_values_are_refused(frequencies):
    with pytest.raises(ConventionError, match="but wanted a dense real tensor or a list"):
        Convention().with_frequencies(frequencies)


@pytest.mark.filterwarnings("ignore")
def test_quantized_frequencies_are_refused():
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    with pytest.raises(ConventionError, match="frequencies of quantized"):
        Convention().with_frequencies(quantized)


@pytest.mark.parametrize("option", [f.name for f in dataclasses.fields(Convention)])
@pytest.mark.parametrize("value", [10**5000, np.array([1, 2]), np.array(["a", "b"])], ids=["long", "numbers", "words"])
def test_a_change_that_makes_no_sense_is_refused_in_our_words(option, value):
    with pytest.raises(ConventionError, match=option):
        conventions["transformer"].replace(**{option: value})

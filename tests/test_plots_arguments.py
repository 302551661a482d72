"""What pictures are asked for: in one order, and what cannot be drawn is refused in words of ours."""

import inspect

import pytest
import torch

from posenc import plots
from posenc.errors import PosencError

PICTURES = [
    "heat_map",
    "waves",
    "similarity",
    "similarity_matrix",
    "spectrum",
    "compare",
    "clocks",
    "wavelengths",
    "error",
]
ALONG = ["heat_map", "waves", "spectrum", "similarity_matrix", "similarity"]


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_takes_its_arguments_in_one_order(name):
    parameters = inspect.signature(getattr(plots, name)).parameters.values()
    given = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]

    assert given == [each for each in ("length", "positions", "dim", "convention", "against") if each in given]
    assert {"dim", "convention"} <= set(given)
    # What may be left out is named.
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters if each.name not in given)


@pytest.mark.parametrize(("name", "instead"), [
    ("error", "pass the width first and positions by name, as in plots.error(64, positions=[1, 100])"),
    ("wavelengths", "pass the width first, as in plots.wavelengths(64)"),
])  # fmt: skip
def test_a_length_before_the_width_is_told_from_a_convention(name, instead):
    with pytest.raises(PosencError) as caught:
        getattr(plots, name)(100, 64)

    assert str(caught.value) == (
        f"got plots.{name}(100, 64), but wanted dim and a convention: this picture takes no length; {instead}."
    )


def test_a_curve_of_similarity_is_as_long_as_asked_for():
    assert len(plots.similarity(5, 8).axes[0].lines[0].get_ydata()) == 5


@pytest.mark.parametrize("start", [0.5, "0", None, torch.tensor([1, 2]), 2**63 - 2, -(2**63) - 1, float("nan")])
@pytest.mark.parametrize("name", ["heat_map", "waves", "spectrum", "compare"])
def test_a_first_position_that_is_none_is_refused(name, start):
    more = ("transformer", "tensor2tensor") if name == "compare" else ()

    with pytest.raises(PosencError, match=r"^got start=.*but wanted an int"):
        getattr(plots, name)(4, 4, *more, start=start)


def test_positions_reach_to_the_end_of_int64():
    assert plots.heat_map(2, 4, start=2**63 - 2)
    assert plots.heat_map(2, 4, start=-(2**63))


LABELS = [
    (7, "got labels=7 of type int, but wanted a list of words"),
    ("man bites dog", "got labels='man bites dog' of type str"),
    ([1, 2], r"got labels\[0\]=1 of type int, but wanted text"),
    (["man", None], r"got labels\[1\]=None"),
    (["man", "\ud800"], r"got labels\[1\]='\\ud800', which holds half a character"),
    ({"man": 1}, "got labels="),
]


@pytest.mark.parametrize(("labels", "message"), LABELS)
def test_labels_that_are_no_words_are_refused(labels, message):
    with pytest.raises(PosencError, match=message):
        plots.heat_map(2, 4, labels=labels)


@pytest.mark.parametrize("title", ["\udfff", 7, b"rows", ["rows"]])
def test_a_title_that_is_no_text_is_refused(title):
    with pytest.raises(PosencError, match=r"^got title="):
        plots.heat_map(2, 4, title=title)


def test_a_word_stands_beside_its_own_position_only():
    axes = plots.heat_map(4, 4, start=-2, labels=["man", "bites"]).axes[0]

    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["-2", "-1", "man  0", "bites  1"]


@pytest.mark.parametrize("name", [*ALONG, "clocks", "wavelengths", "error", "compare"])
def test_a_width_beyond_all_models_is_refused_before_it_takes_minutes(name):
    before = {"clocks": (0,), "wavelengths": (), "error": ()}.get(name, (4,))
    more = ("transformer", "tensor2tensor") if name == "compare" else ()

    with pytest.raises(PosencError, match="got dim=32769, but wanted at most 32768 columns"):
        getattr(plots, name)(*before, 32769, *more)

"""What the reader turns is kept in the address, and what an address or Python says is what the page shows."""

import pytest
from tests.browser.controls import CONTROLS, turn, until

from posenc.explorer.state import CHOICES, RANGES

STATE = {
    "sentences": ["she told him & me = 1 #2", "him told she + 狗 🐕 </script>\u2028 שלום"],
    "dim": 128,
    "length": 256,
    "base": 100,
    "convention": "fairseq",
    "position": 99,
    "dimension": 31,
    "offset": 7,
    "break": "halves",
    "colours": "red-blue",
}


def state(page):
    return page.evaluate("window.posenc.state")


def test_an_address_says_everything(opened):
    page = opened(state=STATE)
    assert state(page) == STATE
    page.evaluate("window.scrollTo(0, 0)")

    # Any change writes the address; the same value again is a change back.
    turn(page, "position", "ArrowRight")
    turn(page, "position", "ArrowLeft")
    fragment = page.evaluate("location.hash")

    assert state(page) == STATE
    assert state(opened(state=STATE, fragment=fragment)) == STATE


def test_an_address_alone_is_enough(opened):
    page = opened(fragment="#dim=128&position=20&dimension=99&convention=marian&sentences=a+b&sentences=b+a")
    shown = state(page)

    assert [shown[key] for key in ("dim", "position", "dimension", "convention")] == [128, 20, 99, "marian"]
    assert shown["sentences"] == ["a b", "b a"]


def test_an_address_comes_before_what_python_says(opened):
    shown = state(opened(state={"dim": 32, "length": 16}, fragment="#dim=128"))

    assert (shown["dim"], shown["length"]) == (128, 16)


@pytest.mark.parametrize("control", CONTROLS)
def test_turning_a_control_can_be_shared(opened, control):
    page = opened()
    before = state(page)
    turn(page, control, "ArrowDown" if CONTROLS[control] == "select" else "ArrowRight")
    turned, fragment = state(page), page.evaluate("location.hash")

    assert turned != before
    assert state(opened(fragment=fragment)) == turned


def test_going_to_a_place_in_the_page_keeps_what_was_turned(opened):
    page = opened(fragment="#dim=128")
    page.locator("nav a[href='#quiz']").click()

    assert state(page)["dim"] == 128
    # It may take its time to scroll there.
    until(page, "Math.abs(document.getElementById('quiz').getBoundingClientRect().top) < innerHeight")


def kept(page, changes):
    """What the page makes of changes to its state: what it does not know or cannot show it puts right."""
    page.evaluate("changes => window.posenc.set(changes)", changes)
    return {key: state(page)[key] for key in changes}


@pytest.mark.parametrize("key", CHOICES)
def test_every_choice_of_python_is_one_of_the_page(opened, key):
    page = opened(state={key: CHOICES[key][-1]})
    assert state(page)[key] == CHOICES[key][-1]

    assert [kept(page, {key: choice}) for choice in CHOICES[key]] == [{key: choice} for choice in CHOICES[key]]
    assert kept(page, {key: "dinner"}) != {key: "dinner"}


@pytest.mark.parametrize("key", RANGES)
def test_the_ends_that_python_allows_are_those_of_the_page(opened, key):
    page = opened(state={"dim": 512, "length": 8192, key: RANGES[key][1]})
    assert state(page)[key] == RANGES[key][1]

    for end, beyond in zip(RANGES[key], (RANGES[key][0] - 1, RANGES[key][1] + 1), strict=True):
        assert kept(page, {"dim": 512, "length": 8192, key: end})[key] == end
        assert kept(page, {"dim": 512, "length": 8192, key: beyond})[key] != beyond


@pytest.mark.parametrize(
    "fragment",
    [
        "#dim=x&length=-1&position=1e99&column=NaN&base=0&convention=dinner&break=__proto__&colours=",
        "#%E0%A4%A",
        "#sentences=only+one",
        "#=&&==",
        "#order",
    ],
)
def test_a_broken_address_shows_something_sound(opened, fragment):
    shown = state(opened(fragment=fragment))

    assert shown["dim"] % 2 == 0
    assert 2 <= shown["length"] <= 8192
    assert shown["convention"] in CHOICES["convention"]
    assert shown["break"] in CHOICES["break"]


# What is asked for, what is shown, what is left in the address, and what is said.
REPAIRED = [
    ("#dim=7", {"dim": 6}, "#dim=6", "dim is 6, not “7”"),
    ("#convention=zzz&dim=128", {"convention": "transformer"}, "#dim=128", "convention is transformer, not “zzz”"),
    ("#position=70&length=64", {"position": 63}, "#position=63", "position is 63, not “70”"),
    ("#column=5", {}, "", "“column” is no setting"),
]


@pytest.mark.parametrize(("fragment", "shown", "left", "says"), REPAIRED)
def test_an_address_that_cannot_be_shown_is_put_right_and_it_is_said(opened, fragment, shown, left, says):
    page = opened(fragment=fragment)
    assert {key: state(page)[key] for key in shown} == shown
    assert page.evaluate("location.hash") == left
    assert says in page.locator("#repaired").inner_text()

    page.evaluate("window.posenc.set({ offset: 9 })")
    assert page.locator("#repaired").inner_text() == ""


def test_an_address_that_is_typed_into_an_open_page_is_put_right_too(opened):
    page = opened(fragment="#dim=128")
    assert page.locator("#repaired").inner_text() == ""
    page.evaluate("() => { location.hash = '#dim=7' }")
    until(page, "location.hash === '#dim=6'")

    assert state(page)["dim"] == 6
    assert "dim is 6, not “7”" in page.locator("#repaired").inner_text()

"""The page fits narrow windows whatever the reader's fonts are: one, DejaVu, Liberation or Noto."""

import pytest
from tests.browser import fonts
from tests.browser.conftest import launched, missing
from tests.browser.controls import settle, until, wide
from tests.browser.opened import SIZES, cannot
from tests.browser.test_axe import VIEWS

# The narrowest that accessibility asks for, and phones.
NARROW = (320, 390)
# Tables and equations that go on out of sight; those of pictures, such as a map of many words, may.
CUT = """[...document.querySelectorAll(".scroll, .equation, .equation > math, math[display]")]
    .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && !each.querySelector(".map"))
    .map(each => `${each.getAttribute("aria-label") ?? each.textContent.trim().slice(0, 40)}: ` +
        `${each.scrollWidth} in ${each.clientWidth}`)"""
# Words of charts that go beyond their figure, which hides them there.
BEYOND = """[...document.querySelectorAll(".chart svg text")]
    .map(each => [each.textContent, each.getBoundingClientRect(), each.closest(".chart").getBoundingClientRect()])
    .filter(([, word, chart]) => word.width > 0 && (word.right > chart.right + 1 || word.left < chart.left - 1))
    .map(([text, word, chart]) => `${text}: ${word.left} to ${word.right} in ${chart.left} to ${chart.right}`)"""
FAMILIES = {"one": "DejaVu Sans", "dejavu": "DejaVu Serif", "liberation": "Liberation Serif", "noto": "Noto Serif"}


@pytest.fixture(scope="module", params=fonts.SETS)
def browser(request, tmp_path_factory):
    """A browser that sees one set of fonts only; takes the place of the browser of the folder."""
    reason = missing() or fonts.missing(request.param)
    if reason:
        cannot(reason)
    playwright = request.getfixturevalue("playwright")
    browser = launched(playwright, env=fonts.environment(request.param, tmp_path_factory.mktemp("fonts")))
    yield browser
    browser.close()


def opened_out(opened, width, **view):
    """The page in a window of that width with every disclosure open, drawn to its end."""
    page = opened(size="phone", **view)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    page.set_viewport_size({"width": width, "height": SIZES["phone"]["height"]})
    settle(page)
    return page


def none_of(page, found):
    """Nothing of that kind is on the page, once it is drawn: views out of sight follow one at a time."""
    try:
        until(page, f"{found}.length === 0")
    except AssertionError:
        return page.evaluate(found)
    return []


def test_tables_equations_and_charts_are_seen_whole_on_a_phone(opened):
    page = opened_out(opened, NARROW[0], state={"dim": 6, "length": 64})

    for dim in (6, 64, 512):
        page.evaluate(f"window.posenc.set({{ dim: {dim} }})")
        for width in NARROW:
            page.set_viewport_size({"width": width, "height": SIZES["phone"]["height"]})
            settle(page)
            assert (dim, width, none_of(page, CUT), none_of(page, BEYOND), wide(page)) == (dim, width, [], [], [])


@pytest.mark.parametrize("view", ["report", "largest"])
def test_nothing_is_wider_than_a_narrow_window(opened, view):
    page = opened_out(opened, NARROW[0], **VIEWS[view])

    assert (none_of(page, CUT), none_of(page, BEYOND), wide(page)) == ([], [], [])


def test_the_browser_sees_the_fonts_of_its_set(opened, request):
    name = request.node.callspec.params["browser"]
    page = opened()
    client = page.context.new_cdp_session(page)
    client.send("DOM.enable")
    client.send("CSS.enable")
    root = client.send("DOM.getDocument")["root"]["nodeId"]
    node = client.send("DOM.querySelector", {"nodeId": root, "selector": "#turn p"})["nodeId"]
    used = client.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]

    assert {font["familyName"] for font in used} <= {FAMILIES[name]}

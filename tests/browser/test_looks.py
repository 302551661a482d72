"""What the page looks like: pictures to look at, nothing wider than its window, and calm and paper are respected."""

import pytest
from tests.browser.controls import settle, until, wide
from tests.browser.opened import SIZES
from tests.browser.test_axe import VIEWS

SECTIONS = "main > section:not([hidden])"
# The narrowest that accessibility asks for, phones, a tablet, a laptop and a screen.
WIDTHS = (320, 390, 768, 1280, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_section_is_pictured_and_fits(opened, pictures, size, scheme):
    page = opened(size=size, color_scheme=scheme, **VIEWS["report"])
    page.screenshot(path=pictures / f"{size}-{scheme}-00-top.png")
    # High enough for every section to be in sight as a whole: what is not may be cut, or not drawn yet.
    page.set_viewport_size({**SIZES[size], "height": 4000})
    settle(page)
    names = page.evaluate(f"[...document.querySelectorAll('{SECTIONS}')].map(each => each.id)")
    for i, name in enumerate(names, 1):
        # The bar of settings that sticks to the top would lie over the picture.
        file = pictures / f"{size}-{scheme}-{i:02}-{name}.png"
        page.locator(f"#{name}").screenshot(path=file, style=".bar { visibility: hidden }")
        assert file.stat().st_size > 2000

    assert len(names) > 8
    assert wide(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_its_window(opened, view):
    page = opened(**VIEWS[view])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)

        assert wide(page) == [], width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_the_readers(opened, scheme):
    page = opened(color_scheme=scheme)
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    brightness = (red + green + blue) / 3

    assert brightness > 200 if scheme == "light" else brightness < 60


def test_print_has_black_words_on_white_all_sections_and_no_controls(opened, pictures):
    page = opened(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    settle(page)
    page.pdf(path=pictures / "print.pdf", format="A4")
    page.screenshot(path=pictures / "print.png", full_page=True)

    assert page.locator("#settings").is_hidden()
    assert page.locator("#quiz").is_visible()
    assert (pictures / "print.pdf").read_bytes().startswith(b"%PDF")
    ink, paper = page.evaluate(
        "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    assert all(int(part) < 60 for part in ink[4:-1].split(","))
    assert paper in {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}


def moving(page):
    """How many animations run, half a second after the page has come."""
    page.wait_for_timeout(500)
    return page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length")


def test_nothing_moves_where_calm_is_wanted(opened):
    page = opened(reduced_motion="reduce")
    before = page.screenshot()
    page.wait_for_timeout(1500)

    assert moving(page) == 0
    assert page.screenshot() == before
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_the_walk_of_the_clocks_can_be_stopped(opened):
    page = opened()
    position = "window.posenc.state.position"
    page.locator("#clock-play").click()
    until(page, f"{position} > 6")
    page.locator("#clock-play").click()
    stopped = page.evaluate(position)
    page.wait_for_timeout(1500)

    assert page.evaluate(position) == stopped


CUT = """() => [...document.querySelectorAll(".scroll")].filter(each => each.scrollWidth > each.clientWidth)
    .map(each => each.getAttribute("aria-label"))"""


def test_a_table_too_wide_for_its_window_says_the_heading_of_each_number(opened):
    page = opened(size="phone")
    # Set so wide that it fits in no font.
    page.evaluate("document.querySelector('#bases').style.letterSpacing = '0.6em'")
    page.set_viewport_size({"width": 330, "height": 900})
    until(page, "document.querySelector('#bases').classList.contains('stacked')")
    cells = page.locator("#bases tbody tr").nth(3).locator("th, td")
    before = cells.evaluate_all("all => all.map(cell => getComputedStyle(cell, '::before').content)")

    assert before[:3] == ['"base: "', '"longest wavelength: "', '"1 apart: "']
    assert page.locator("#bases").evaluate("table => table.offsetWidth <= table.parentElement.clientWidth")


def test_a_table_that_scrolls_has_a_shadow_at_its_edge(opened):
    page = opened(size="phone", state={"sentences": ["eight words that make one map too wide", "a"]})
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    settle(page)
    assert "Sentence 1, head 1" in page.evaluate(CUT)
    box = page.locator(".scroll[aria-label='Sentence 1, head 1']")

    # Four layers: two shadows stay at the edges, two lids go with the table.
    assert box.evaluate("each => getComputedStyle(each).backgroundAttachment") == "local, local, scroll, scroll"

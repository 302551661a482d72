"""The whole page by keyboard: everything is reached and seen to be, sliders go to both ends, the cursor walks."""

import pytest
import torch
from tests.browser.controls import CONTROLS, settle, turn

import posenc

# What a keyboard can reach: one button of a group of radio buttons stands for all of them.
REACHABLE = """() => {
    const all = [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']")]
    const seen = all.filter(each => each.checkVisibility({ visibilityProperty: true }) && !each.disabled)
    const groups = new Set()
    return seen.filter(each => each.type !== "radio" || !groups.has(each.name) && groups.add(each.name))
        .map((each, i) => each.type === "radio" ? each.name : (each.dataset.stop = `stop ${i}`))
}"""
FOCUSED = """() => {
    const it = document.activeElement
    if (it === null || it === document.body) return null
    const style = getComputedStyle(it)
    const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none"
    const box = it.getBoundingClientRect()
    const top = document.elementFromPoint(box.left + box.width / 2, Math.max(0, box.top) + Math.min(8, box.height / 2))
    return {
        stop: it.type === "radio" ? it.name : it.dataset.stop ?? it.outerHTML.slice(0, 100),
        what: it.outerHTML.slice(0, 100),
        marked,
        covered: top !== null && !it.contains(top) && !top.contains(it),
        inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    }
}"""


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_tab_reaches_everything_and_shows_where_it_is(opened, size):
    # Without smooth scrolling, which would still be on its way.
    page = opened(size=size, reduced_motion="reduce")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    settle(page)
    stops = page.evaluate(REACHABLE)
    found = []
    for _ in range(2 * len(stops)):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None or any(at["stop"] == other["stop"] for other in found):
            break
        found.append(at)

    # A browser adds boxes that scroll as stops of its own.
    assert len(stops) > 30
    assert set(stops) <= {at["stop"] for at in found}
    assert [at["what"] for at in found if not at["marked"]] == []
    assert [at["what"] for at in found if not at["inside"]] == []
    assert [at["what"] for at in found if at["covered"]] == []


def test_the_first_stop_skips_to_the_content(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "order"


def test_the_cursor_walks_and_says_where_it_is(opened):
    page = opened()
    cell = lambda: page.evaluate("(({ position, dimension }) => [position, dimension])(window.posenc.state)")  # noqa: E731
    page.locator("#heat-canvas").focus()
    start = cell()
    steps = {"ArrowDown": (1, 0), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowLeft": (0, -1)}
    for key, (down, right) in steps.items():
        before = cell()
        page.keyboard.press(key)
        assert cell() == [before[0] + down, before[1] + right]
    assert cell() == start
    page.keyboard.press("End")
    page.keyboard.press("End")
    assert cell() == [start[0], 63]
    for _ in range(100):
        page.keyboard.press("ArrowDown")
    settle(page)
    wanted = posenc.encode(63, 64, dtype=torch.float64)[63].item()

    assert cell() == [63, 63]
    said = page.locator("#heat-status").inner_text()
    assert said.startswith("Position 63, ")
    assert f" 63: cos(63 / 10000^(62/64)) = {wanted:.6f}" in said


def test_a_wide_table_scrolls_with_its_cursor_on_a_phone(opened):
    page = opened(size="phone", state={"dim": 512})
    page.locator("#heat-canvas").focus()
    for key in ("End", "Home"):
        page.keyboard.press(key)
        settle(page)
        inside = page.evaluate(
            """() => {
                const [box, cell] = [".heat-scroll", ".heat-cell"].map(name =>
                    document.querySelector(name).getBoundingClientRect())
                return cell.left >= box.left && cell.right <= box.right
            }"""
        )

        assert inside, key


def test_a_click_on_a_cell_puts_the_cursor_there(opened):
    page = opened()
    canvas = page.locator("#heat-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * (40 + 0.5) / 64, "y": box["height"] * (20 + 0.5) / 64})

    assert page.evaluate("[window.posenc.state.position, window.posenc.state.dimension]") == [20, 40]


@pytest.mark.parametrize("control", [name for name, kind in CONTROLS.items() if kind == "slider"])
@pytest.mark.parametrize("end", ["Home", "End"])
def test_sliders_go_to_both_ends(opened, control, end):
    page = opened()
    turn(page, control, end)
    slider = page.locator(f"#{control}")
    wanted = slider.get_attribute("min" if end == "Home" else "max")

    assert slider.input_value() == wanted
    assert_sound(page)


ENDS = {
    "all low": {"dim": "Home", "length": "Home", "base": "Home", "offset": "Home"},
    "all high": {"dim": "End", "length": "End", "base": "End", "position": "End", "dimension": "End", "offset": "End"},
    "long and narrow": {"dim": "Home", "length": "End", "position": "End"},
    "short and wide": {"dim": "End", "length": "Home", "dimension": "End", "base": "Home"},
}


@pytest.mark.parametrize("corner", ENDS)
@pytest.mark.parametrize("size", ["wide", "phone"])
def test_all_corners_of_the_sliders_are_sound(opened, corner, size):
    page = opened(size=size)
    for control, key in ENDS[corner].items():
        turn(page, control, key)

    assert_sound(page)


def assert_sound(page):
    """No number is missing anywhere, and the status is that of the cell under the cursor."""
    text = page.evaluate("document.body.innerText")
    assert [word for word in ("NaN", "undefined", "Infinity", "[object") if word in text] == []
    at = page.evaluate("window.posenc.state")
    wanted = posenc.encode(at["position"], at["dim"], posenc.Convention(base=at["base"]), dtype=torch.float64)
    said = page.locator("#heat-status").inner_text().replace("\u2212", "-")
    value = f"{wanted[at['dimension']].item():.6f}"
    assert f"= {value}".replace("-0.000000", "0.000000") in said.replace("-0.000000", "0.000000")


def test_the_quiz_is_answered_by_keyboard_and_its_answers_are_true(opened):
    page = opened()
    first = page.locator("#questions input[type=radio]").first
    first.focus()
    page.keyboard.press("Space")
    settle(page)

    assert first.is_checked()
    assert page.locator("#quiz-score").inner_text()

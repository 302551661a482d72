"""From an answer of the quiz to what it speaks of, and back: nothing of the reader's is lost on the way."""

import math

import pytest
from tests.browser.controls import settle, turn, until

STATE = "window.posenc.state"
FOCUS = "document.activeElement.id"


def answered(page, question, choice):
    """Answer a question, and give back the button that leads to what its answer speaks of."""
    page.locator(f"#quiz-{question}-{choice}").check()
    return page.locator(f"#quiz-show-{question}")


def test_the_cell_has_the_focus_and_back_returns_to_the_question_with_the_old_settings(opened):
    page = opened(fragment="#dim=128&convention=marian", reduced_motion="reduce")
    before = page.evaluate(STATE)
    button = answered(page, "index-99", 1)
    button.click()

    assert [page.evaluate(STATE)[key] for key in ("dim", "dimension", "position")] == [512, 99, 20]
    assert page.evaluate("location.hash") == "#dim=512&position=20&dimension=99"
    assert page.evaluate(FOCUS) == "heat-canvas"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(STATE)["dimension"] == 100
    settle(page)

    page.go_back()
    until(page, f"{FOCUS} === 'quiz-show-index-99'")
    assert page.evaluate(STATE) == before
    assert page.evaluate("location.hash") == "#dim=128&convention=marian"
    box = button.bounding_box()
    assert 0 < box["y"] < page.viewport_size["height"]
    assert page.locator("#quiz-index-99-1").is_checked()

    page.go_forward()
    until(page, f"{FOCUS} === 'heat-canvas'")
    assert page.evaluate(STATE)["dimension"] == 100


def test_what_was_turned_a_moment_ago_is_there_again(opened):
    page = opened(reduced_motion="reduce")
    button = answered(page, "monotone", 1)
    turn(page, "dim", "ArrowRight")
    page.locator("#offset").focus()
    page.keyboard.press("ArrowRight")
    # No wait: the address is not written yet.
    button.evaluate("button => button.click()")
    assert page.evaluate(STATE)["offset"] == 44
    page.go_back()
    until(page, f"{STATE}.dim === 128")

    assert page.evaluate(STATE)["offset"] == 4


@pytest.mark.parametrize("dim", [2, 64])
def test_the_quiz_speaks_of_one_width_whatever_the_settings(opened, dim):
    page = opened(state={"dim": dim})
    answered(page, "monotone", 1)
    reply = page.locator("fieldset:has(#quiz-monotone-1) .reply").inner_text()
    at_43, at_44 = (sum(math.cos(k / 10000 ** (2 * i / 512)) for i in range(256)) for k in (43, 44))

    assert f"At width 512 it is {at_43:.3f} at distance 43 and {at_44:.3f} at distance 44." in reply
    assert page.locator("#quiz").inner_text().count("idth") == 2

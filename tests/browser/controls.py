"""The page as a hand on a keyboard works it, and as an eye sees it."""

import time

CONTROLS = {
    "dim": "slider",
    "length": "slider",
    "base": "slider",
    "position": "slider",
    "dimension": "slider",
    "offset": "slider",
    "convention": "select",
    "colours": "select",
}


def settings(page):
    """Open the settings, where they are closed."""
    if page.locator("#settings").get_attribute("open") is None:
        page.locator("#settings > summary").focus()
        page.keyboard.press("Enter")


def turn(page, control, *keys):
    """Press keys on a control of the settings."""
    settings(page)
    page.locator(f"#{control}").focus()
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def settle(page):
    """Wait until what was changed is drawn, and stands in the address, which follows after 150 ms."""
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn, 250)))")


def until(page, expression):
    """Wait until this is true in the page; playwright's own waiting evaluates text, which the policy forbids."""
    end = time.monotonic() + 10
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def wide(page):
    """The innermost things that make the page wider than its window; boxes that scroll or hide their content do not."""
    return page.evaluate(
        """() => {
            const room = document.documentElement.clientWidth
            if (document.documentElement.scrollWidth <= room) return []
            const kept = each => each !== null && each !== document.body &&
                (getComputedStyle(each).overflowX !== "visible" || kept(each.parentElement))
            const out = [...document.body.querySelectorAll("*")].filter(each =>
                each.getBoundingClientRect().right > room + 1 && !kept(each.parentElement))
            return [`the page is ${document.documentElement.scrollWidth} wide, the window ${room}`,
                ...out.filter(each => !out.some(other => other !== each && each.contains(other)))
                    .map(each => each.outerHTML.slice(0, 100))]
        }"""
    )

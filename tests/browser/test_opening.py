"""The page opened from disk: small, soon ready, nothing asked for from outside, and nothing could be."""

import statistics

import pytest
from tests.browser.controls import until
from tests.browser.opened import Opened

from posenc import explorer
from posenc.explorer.state import SIZES, STATE

MOST_BYTES = 500_000
REPEATS = 5


def test_it_is_one_small_file():
    assert len(explorer.page().encode()) < MOST_BYTES


def test_it_is_soon_ready(opened, pictures):
    """Times of this machine are told and not judged: another one may be slower for its own reasons."""
    times = {
        state_of: statistics.median(ready(opened, state) for _ in range(REPEATS))
        for state_of, state in (("as it is", None), ("largest", {"dim": 512, "length": 8192}))
    }
    told = "".join(f"ready after {1000 * t:.0f} ms, {name}, median of {REPEATS}\n" for name, t in times.items())
    (pictures / "ready.txt").write_text(told, encoding="utf-8")

    # Hours of work would be a mistake anywhere; ten seconds are ten times the aim.
    assert times["as it is"] < 10


def ready(opened, state):
    """Seconds from the start of the navigation until all is drawn and painted."""
    page = opened(state=state)
    until(page, "performance.getEntriesByName('first-contentful-paint').length")
    drawn, painted = page.evaluate(
        """[Number(document.documentElement.dataset.ready),
            performance.getEntriesByName("first-contentful-paint")[0].startTime]"""
    )
    return max(drawn, painted) / 1000


def test_the_policy_forbids_everything_that_is_not_in_the_file(opened):
    page = opened()
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}

    assert rules["default-src"] == ["'none'"]
    assert rules["base-uri"] == rules["form-action"] == ["'none'"]
    # Its own script by its hash, its own styles, pictures that it draws itself; no address of any kind.
    assert all(part.startswith("'sha256-") for part in rules["script-src"])
    assert {part for parts in rules.values() for part in parts if not part.startswith("'")} <= {"data:", "blob:"}


ATTEMPTS = {
    "connect-src": "fetch(url).catch(() => {})",
    "img-src": "new Image().src = url",
    "script-src-elem": "make('script', { src: url })",
    "style-src-elem": "make('link', { rel: 'stylesheet', href: url })",
    "frame-src": "make('iframe', { src: url })",
}


@pytest.mark.parametrize("directive", ATTEMPTS)
def test_the_policy_holds(browser, tmp_path, directive):
    pages = Opened(browser, tmp_path)
    attempt = f"""(told => {{
        const url = "http://example.invalid/a"
        const make = (name, given) => document.body.append(Object.assign(document.createElement(name), given))
        addEventListener("securitypolicyviolation", event => told(event.effectiveDirective), {{ once: true }})
        setTimeout(() => told("nothing was refused"), 3000)
        {ATTEMPTS[directive]}
    }})"""
    refused = pages().evaluate(f"() => new Promise({attempt})")
    pages.close()

    assert refused == directive


def test_a_page_without_the_policy_would_be_seen_to_ask(browser, tmp_path, monkeypatch):
    html = explorer.page().replace("</body>", '<img src="http://example.invalid/a.png"></body>')
    monkeypatch.setattr(explorer, "page", lambda **_slots: html.replace("Content-Security-Policy", "x"))
    pages = Opened(browser, tmp_path)
    pages().wait_for_timeout(500)
    pages.close()

    assert pages.outside() == ["http://example.invalid/a.png"]
    assert pages.complaints


def test_state_and_defaults_are_those_that_python_knows(opened):
    shown = opened().evaluate("window.posenc.state")

    assert set(shown) == set(STATE)
    assert {key: shown[key] for key in SIZES} == SIZES

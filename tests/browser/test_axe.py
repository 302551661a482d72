"""Axe finds nothing: on the whole page with everything open, at both widths, in the light and in the dark."""

import pytest
from tests.browser.controls import settings, settle
from tests.browser.opened import ROOT, SIZES, cannot

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
REPORT = {
    "schema": 1,
    "target": "their.module:Layer",
    "convention": "transformer",
    "checks": [
        {
            "id": "batch-axis",
            "status": "fail",
            "severity": "fault",
            "measured": 0.97,
            "limit": 1e-6,
            "reason": "rows of a batch differ",
            "fix": "add pe[:, :x.size(1)]",
            "docs": "checks/batch-axis",
        },
        {
            "id": "order",
            "status": "pass",
            "severity": "fault",
            "measured": None,
            "limit": None,
            "reason": "",
            "fix": "",
            "docs": "checks/order",
        },
        {
            "id": "compile",
            "status": "skip",
            "severity": "note",
            "measured": None,
            "limit": None,
            "reason": "no compiler",
            "fix": "",
            "docs": "checks/compile",
        },
    ],
}
# As they are first, with a report, and at the ends of what can be set.
VIEWS = {
    "first": {},
    "report": {"report": REPORT},
    "empty": {"state": {"sentences": ["", ""], "dim": 2, "length": 2, "position": 0, "dimension": 0, "offset": 0}},
    "largest": {"state": {"dim": 512, "length": 8192, "base": 1e6, "sentences": ["dog " * 500, "שלום 🐕 狗"]}},
    "broken": {"state": {"break": "no-cosines", "convention": "musicgen", "colours": "red-blue"}},
}
FOUND = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(" | ")}`)"""


@pytest.fixture(scope="module")
def axe():
    """The source of axe, which `npm ci --prefix web` brings."""
    if not AXE.is_file():
        cannot(f"no {AXE.relative_to(ROOT)} here; `npm ci --prefix web` brings it")
    return AXE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(opened, axe, view, size, scheme):
    page = opened(size=size, color_scheme=scheme, **VIEWS[view])
    settings(page)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    settle(page)
    # Evaluated by the debugger, which the page's policy lets pass.
    page.evaluate(axe)

    assert page.evaluate(FOUND) == []


def test_a_fault_is_found(opened, axe):
    page = opened()
    page.evaluate("document.querySelector('label[for=dim]').remove()")
    page.evaluate("document.querySelector('#settings').open = true")
    page.evaluate(axe)

    assert any(found.startswith("label") for found in page.evaluate(FOUND))

"""Fills the slots of the page, and knows a page that it has filled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import InputError, refuse
from .state import check_state

FILE = "page.html"
# Behind the doctype, in every page that is given away, so that a later run knows it again.
MARK = "<!-- made by posenc -->"
DOCTYPE = "<!doctype html>"
REPORT_KEYS = ("schema", "target", "convention", "checks")


def page(*, state: Mapping[str, Any] | None = None, report: Mapping[str, Any] | None = None) -> str:
    """The explorer as one HTML file, which needs no network and no server.

    Args:
        state: what the page shows first, under the keys of `STATE`; what is left out is as the page has it.
        report: what a doctor found, with the keys schema, target, convention and checks; drawn as a section.

    Raises:
        InputError: a key that the page does not know, or a value that it could not show.

    >>> html = page(state={"sentences": ["she told him", "him told she"], "dim": 32})
    >>> html[:15], "she told him" in html
    ('<!doctype html>', True)
    """
    html = _template()
    html = _filled(html, "posenc-state", check_state(state or {}))
    return _filled(html, "posenc-report", None if report is None else _check_report(report))


def is_ours(path: Path) -> bool:
    """Whether the file is a page that this module has filled."""
    with path.open("rb") as file:
        head = file.read(len(DOCTYPE) + len(MARK) + 16)
    return MARK.encode() in head


@cache
def _template() -> str:
    html = (resources.files(__package__) / FILE).read_text("utf-8")
    start = len(DOCTYPE)
    if html[:start].lower() != DOCTYPE:
        raise ValueError(f"{FILE} does not begin with {DOCTYPE}; build it again from web/.")
    return f"{DOCTYPE}\n{MARK}{html[start:]}"


def _filled(html: str, slot: str, value: Any) -> str:
    """The page with this value as JSON between the tags of this slot."""
    opening = f'<script id="{slot}" type="application/json">'
    before, found, rest = html.partition(opening)
    _, end, after = rest.partition("</script>")
    if not found or not end:
        raise ValueError(f"{FILE} has no slot {slot!r}; build it again from web/.")
    return f"{before}{opening}{_json(value)}{end}{after}"


def _json(value: Any) -> str:
    """JSON that cannot end the script it stands in: ASCII alone, and no sign that HTML reads."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"got a value that JSON cannot hold ({error}), but wanted plain ones; convert it.") from error
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _check_report(report: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(report, Mapping) or set(report) != set(REPORT_KEYS):
        keys = ", ".join(map(str, report)) if isinstance(report, Mapping) else ""
        refuse(
            f"report of type {type(report).__name__}" + (f" with the keys {keys}" if keys else ""),
            f"a mapping with the keys {', '.join(REPORT_KEYS)}",
            "pass these four",
        )
    return dict(report)

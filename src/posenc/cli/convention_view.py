"""Draws the list of named conventions, and the page of one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from .convention_words import number
from .page import INDENT, Page, count, places

LABEL = 11
MARK = "*"
TIE = "\N{NO-BREAK SPACE}"


def draw(page: Page, found: Sequence[dict[str, Any]]) -> None:
    """Families, in them the encodings that differ, under each the names that speak it."""
    from ..convention import SUBJECTS

    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for each in found:
        said = each["differs"] if each["turning"] is None else each["turning"]
        groups.setdefault(each["subject"], {}).setdefault("; ".join(said), []).append(each)
    encodings = sum(map(len, groups.values()))
    page.console.print(f"posenc conventions: {_many(len(found), 'name')}, {_many(encodings, 'encoding')}", style="bold")
    page.console.print()
    page.say(
        "A line says what differs from the paper: sine first, interleaved, base 10000, its ladder without the end, "
        "position 0 first. Below it are the systems that do it, with other names they are found by. Axes are named "
        "in the order of their columns. Of rotary names the layout and the base are said too."
    )
    for subject, lines in groups.items():
        page.console.print(Text(f"{subject}: {SUBJECTS[subject][1]}", "bold"))
        page.console.print()
        for differs, members in lines.items():
            _wrapped(page, differs or "as in the paper", "", " " * INDENT)
            _wrapped(page, ", ".join(map(_named, members)), "dim", " " * 2 * INDENT)
        page.console.print()
    if any(each["mistake"] for each in found):
        page.say(f"{MARK} with a known mistake.")
    page.say(
        f"posenc conventions {found[0]['name']} explains one; hf-marian, detr_sine_2d and their like are found too."
    )


def explain(page: Page, facts: dict[str, Any]) -> None:
    """All that is known of one convention."""
    page.console.print(Text(facts["name"], "bold"))
    page.console.print()
    version = f", {facts['version']}" if facts["version"] else ""
    # A path that is too long for its line goes on after a slash.
    lines = _fold((facts["source"] + version).replace("/", "/ "), page.width - INDENT - LABEL)
    _lines(page, "source", [line.replace("/ ", "/") for line in lines])
    if facts["aliases"]:
        _field(page, "also", ", ".join(facts["aliases"]))
    if facts["turning"] is None:
        _field(page, "differs", "; ".join(facts["differs"]) or "in nothing from the paper")
    else:
        _field(page, "rotary", "; ".join(facts["turning"]))
    if facts["note"]:
        _field(page, "note", facts["note"])
    if facts["mistake"]:
        _field(page, "mistake", facts["mistake"], "red")
    page.console.print()
    if facts["turning"] is None:
        _formula(page, facts)
    else:
        _rotation(page, facts)
    page.console.print()
    recipe = facts["recipe"]
    if recipe["name"]:
        _field(page, "released", f'{recipe["meaning"]} ("{recipe["name"]}")')
    _field(page, "equal", ", ".join(facts["equal"]) or "no other name")
    if facts["equal_up_to_start"]:
        _field(page, "shifted", "equal but for the start: " + ", ".join(facts["equal_up_to_start"]))
    page.console.print()
    _field(page, "use", facts["paste"])
    _field(page, "or", facts["constructor"])


def _formula(page: Page, facts: dict[str, Any]) -> None:
    positions, bands = facts["positions"], facts["bands"]
    summed = positions and len(bands) == 1
    of = ""
    if positions:
        of = f", {'summed over' if summed else 'for'} each p of ({', '.join(positions)})"
    gain = f", times {number(facts['gain'])}" if facts["gain"] != 1 else ""
    _field(page, "computes", f"sin and cos of {facts['angle']}{of}{gain}")
    _ladders(page, facts)
    _field(page, "columns", ", ".join(name.replace(" ", TIE) for name in facts["columns"]))
    _field(page, "", facts["odd_widths"])


def _rotation(page: Page, facts: dict[str, Any]) -> None:
    """What becomes of a query or a key."""
    positions, pairs, width = facts["positions"], facts["pairs"], facts["rotary_dim"]
    of = f", for each p of ({', '.join(positions)})" if positions else ""
    angle = facts["angle"].replace(" ", TIE)
    _field(page, "turns", f"(a, b) to (a cos v - b sin v, b cos v + a sin v), v = {angle}{of}")
    _ladders(page, facts)
    # The first two of every axis tell how the others go on.
    shown = [i for i, pair in enumerate(pairs) if re.search(r" w[01]\b", pair)]
    said: list[str] = []
    for i, after in zip(shown, [*shown[1:], len(pairs)], strict=True):
        said += [pairs[i]] if after == i + 1 else [pairs[i], "..."]
    said += [pairs[-1]] if len(pairs) - 1 not in shown else []
    _field(page, "pairs", ", ".join(pair.replace(" ", TIE) for pair in said))
    if width < facts["dim"]:
        _field(page, "", f"x{width} to x{facts['dim'] - 1} stay as they are")
    _field(page, "", facts["widths"])


def _ladders(page: Page, facts: dict[str, Any]) -> None:
    """The frequencies, axis by axis where they differ."""
    bands = facts["bands"]
    alike = len({(band["formula"], _ends(band)) for band in bands}) == 1
    if not alike:
        _field(page, f"dim {facts['dim']}", "each axis has a ladder of its own")
    for band in bands[:1] if alike else bands:
        _field(page, f"dim {facts['dim']}" if alike else f"  {band['axis']}", band["formula"])
        if facts["stretch"]:
            _field(page, "", f"stretched: {facts['stretch']}")
        if _ends(band):
            _field(page, "", _ends(band))


def _ends(band: dict[str, Any]) -> str:
    first, last = band["frequencies"]
    if first is None or last is None:
        return ""
    waves = [_wave(wave) for wave in band["wavelengths"]]
    return f"from {_radians(first)} to {_radians(last)} radians, wavelengths from {waves[0]} to {waves[1]}"


def _wave(value: float | None) -> str:
    if value is None:
        return "endless"
    return places(value).replace(" ", TIE) if value >= 1 else f"{value:.3g}"


def _radians(value: float) -> str:
    said = number(value)
    return said if "pi" in said else number(float(f"{value:.4g}"))


def _named(each: dict[str, Any]) -> str:
    """A name with the aliases that are no longer spelling of it, and a mark where there is a mistake."""
    words = set(each["name"].split("-"))
    new = [alias for alias in each["aliases"] if not words <= set(alias.replace("rope-", "rotary-").split("-"))]
    return f"{each['name']}{MARK if each['mistake'] else ''}" + (f" ({', '.join(new)})" if new else "")


def _many(number_of: int, word: str) -> str:
    return f"{count(number_of)} {word}{'s' if number_of != 1 else ''}"


def _field(page: Page, label: str, text: str, style: str = "") -> None:
    """A label, and beside it a text that wraps under itself."""
    _lines(page, label, _fold(text, page.width - INDENT - LABEL), style)


def _lines(page: Page, label: str, lines: Sequence[str], style: str = "") -> None:
    for row, line in enumerate(lines):
        left = f"{label if row == 0 else '':<{LABEL}}"
        page.line(Text(left, "dim").append(line, style))


def _wrapped(page: Page, text: str, style: str, indent: str) -> None:
    for line in _fold(text, page.width - len(indent)):
        page.console.print(Text(indent).append(line, style))


def _fold(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text.replace(" pi", f"{TIE}pi"), max(8, width), break_on_hyphens=False)
    return [line.replace(TIE, " ") for line in lines] or [""]

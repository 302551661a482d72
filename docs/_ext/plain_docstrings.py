"""Lets docstrings be plain text: signs of mathematics in them are no markup of reStructuredText."""

# ruff: noqa: INP001 - Sphinx loads it by its name

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

# A bar or a star outside of `code`, of which a docstring may have as many as a formula needs; and a letter that
# follows code at once, as in `Tensor`s, which markup would not take for its end.
SIGNS = re.compile(r"(`[^`]*`)(?!\w)|(`[^`]*`)(?=\w)|([*|])")


def plain(lines: list[str]) -> list[str]:
    r"""The lines with |x| and 2 * x escaped, except in code and in examples.

    >>> plain(["-slope * |i - j|, as `|x|`", "", ">>> 2 * 3", "6"])
    ['-slope \\* \\|i - j\\|, as `|x|`', '', '>>> 2 * 3', '6']
    """
    made, in_example = [], False
    for line in lines:
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        made.append(line if in_example else SIGNS.sub(escaped, line))
    return made


def escaped(found: re.Match[str]) -> str:
    """One find of `SIGNS`, so that it is read as it was written."""
    whole, joined, sign = found.groups()
    return whole or (f"{joined}\\ " if joined else f"\\{sign}")


def process(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Change the lines where they stand, before the sections of them are read."""
    lines[:] = plain(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

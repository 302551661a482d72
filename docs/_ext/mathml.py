"""Draws formulas as MathML when the pages are built: no script, no font and no network is needed to read them."""

# ruff: noqa: INP001 - Sphinx loads it by its name

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
# The brackets of a matrix grow with it only where a font for mathematics is installed: the style sheet draws them.
MATRIX = re.compile(r"<mo>&#x00028;</mo><mtable>(.*?)</mtable><mo>&#x00029;</mo>", re.DOTALL)
# The name of a function before its argument, where no bracket parts them.
FUNCTION = re.compile(
    r"((?<!<msup>)<mi>(?:sin|cos|ln|exp)</mi>|<msup><mi>(?:sin|cos)</mi><mn>2</mn></msup>)(?!<mo|<mrow><mo)"
)


def mathml(latex: str, display: str, where: Any = None) -> str:
    r"""LaTeX -> MathML, as "inline" or "block"; a formula that cannot be read is a warning, and shown as it is.

    >>> mathml(r"\alpha", "inline")
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow><mi>&#x003B1;</mi></mrow></math>'
    """
    try:
        drawn = convert(latex, display=display)
    except Exception as error:  # noqa: BLE001  # whatever the reader of LaTeX raises
        logger.warning("formula %r: %r", latex, error, location=where)
        return nodes.unescape(latex)
    if (r"\\" in latex and "<mtable" not in drawn) or "\\" in drawn:
        logger.warning("formula %r came out as %r", latex, drawn, location=where)
    drawn = FUNCTION.sub(r'\1<mspace width="0.17em" />', drawn)
    return MATRIX.sub(r'<mtable class="matrix">\1</mtable>', drawn)


def visit_inline(self: Any, node: nodes.Element) -> None:
    """A formula in a sentence."""
    self.body.append(mathml(node.astext(), "inline", node))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.Element) -> None:
    """A formula on a line of its own; wide ones scroll by themselves, not the page."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block", node)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

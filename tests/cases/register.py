"""Where cases are noted, under their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

Check = Callable[[], None]


class Case(NamedTuple):
    """A function, and the marks of its test."""

    check: Check
    marks: tuple[pytest.MarkDecorator, ...]


CASES: dict[str, Case] = {}


def case(number: str, *marks: pytest.MarkDecorator) -> Callable[[Check], Check]:
    """Note a function as what shows the case of this number."""

    def note(check: Check) -> Check:
        assert number not in CASES, f"{number} is shown twice"
        CASES[number] = Case(check, marks)
        return check

    return note

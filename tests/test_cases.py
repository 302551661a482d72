"""Every fault on a list of those that people have met in public, shown right by its small input, under its number."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from . import cases
from .cases.register import CASES, Check

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"{cases.__name__}.{_module.name}")


@pytest.mark.parametrize(
    "check", [pytest.param(it.check, id=f"{n}-{it.check.__name__}", marks=it.marks) for n, it in sorted(CASES.items())]
)
def test_case(check: Check):
    check()

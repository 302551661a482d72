"""The named table of real systems: data read from `systems.toml`, one row a system."""

from __future__ import annotations

import difflib
import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import DtypeError, UnknownConventionError, refuse
from .record import Convention

FAMILIES = {
    "text": "positions of tokens, frames or rows",
    "timestep": "times of a diffusion",
    "relative": "distances between tokens",
    "image": "(row, column) of a map",
    "video": "(time, row, column), or the time alone",
    "volume": "(depth, row, column)",
    "box": "coordinates of points and boxes",
    "fourier": "Fourier features of coordinates",
    "random": "random or learned frequencies",
    "rotary": "queries and keys that are turned",
}


@dataclass(frozen=True)
class System:
    """A real system: what it encodes, where that is read off, and what is odd about it."""

    name: str
    family: str
    convention: Convention
    source: str
    version: str = ""
    aliases: tuple[str, ...] = ()
    note: str = ""
    mistake: str = ""


_TEXTS = {f.name for f in fields(System)}


def _system(family: str, name: str, row: Mapping[str, Any]) -> System:
    options = {key: value for key, value in row.items() if key not in _TEXTS}
    said: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key in _TEXTS
    }
    return System(name, family, Convention.from_dict({**options, "name": name}), **said)


def _read() -> dict[str, System]:
    text = (importlib.resources.files(__package__) / "systems.toml").read_text("utf-8")
    found = tomllib.loads(text)
    return {name: _system(family, name, row) for family in FAMILIES for name, row in found.get(family, {}).items()}


# Name -> System, under canonical names.
systems: Mapping[str, System] = _read()


class _Conventions(Mapping[str, Convention]):
    """Name -> Convention. "_" may stand for "-"; aliases are found; iteration gives canonical names."""

    def __init__(self, table: Mapping[str, Convention], aliases: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._aliases = dict(aliases)

    def canonical(self, name: Any) -> str | None:
        """The canonical name that a name or an alias stands for; None where there is none."""
        key = name.replace("_", "-") if isinstance(name, str) else name
        try:
            key = self._aliases.get(key, key)
            return key if key in self._table else None
        except TypeError:
            return None

    def __getitem__(self, name: str) -> Convention:
        key = self.canonical(name)
        if key is not None:
            return self._table[key]
        near = difflib.get_close_matches(str(name).replace("_", "-"), [*self._table, *self._aliases], n=3, cutoff=0.5)
        fix = f"did you mean {' or '.join(map(repr, near))}?" if near else "pass a Convention for anything else."
        raise UnknownConventionError(
            f"got convention {name!r}, but wanted one of the {len(self._table)} names in posenc.conventions, "
            f"which `posenc conventions` lists; {fix}"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"conventions({', '.join(self._table)})"


conventions: _Conventions = _Conventions(
    {name: system.convention for name, system in systems.items()},
    {alias: name for name, system in systems.items() for alias in system.aliases},
)


def resolve(convention: str | Convention) -> Convention:
    """The convention of a name, or the convention itself.

    >>> resolve("openai_whisper").layout
    'halves'
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        refuse(
            f"convention={convention!r} of type {type(convention).__name__}",
            "a name or a Convention",
            'leave it out for the encoding of the paper, "transformer"',
            error=DtypeError,
        )
    return conventions[convention]

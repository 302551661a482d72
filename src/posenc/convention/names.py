"""The named table of real systems: data read from `systems.toml`, one row a system."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NoReturn

from ..errors import ConventionError, DtypeError, UnknownConventionError, refuse, shown
from .record import Convention
from .suggestions import SHOWN, alike, asked_for, door, meant, written_otherwise

Family = Literal["additive", "map", "timestep", "rotary"]
# Of each family the name that its door takes where none is passed.
FAMILIES: dict[Family, str] = {
    "additive": "transformer",
    "map": "mae-2d",
    "timestep": "ddpm-timestep",
    "rotary": "llama",
}
# What is encoded -> the family of such systems, and the same in words.
SUBJECTS: dict[str, tuple[Family, str]] = {
    "text": ("additive", "positions of tokens, frames or rows"),
    "timestep": ("timestep", "times of a diffusion"),
    "relative": ("additive", "distances between tokens"),
    "image": ("map", "(row, column) of a map"),
    "video": ("map", "(time, row, column)"),
    "volume": ("map", "(depth, row, column)"),
    "box": ("map", "coordinates of points and boxes"),
    "fourier": ("map", "Fourier features of coordinates"),
    "random": ("map", "random or learned frequencies"),
    "rotary": ("rotary", "queries and keys that are turned"),
}


@dataclass(frozen=True)
class System:
    """A real system: what it encodes, where that is read off, and what is odd about it.

    family: which layers and functions take its name; subject: what it encodes, a key of `SUBJECTS`.
    """

    name: str
    family: Family
    subject: str
    convention: Convention
    source: str
    version: str = ""
    aliases: tuple[str, ...] = ()
    note: str = ""
    mistake: str = ""


_TEXTS = {f.name for f in fields(System)}


def _system(subject: str, name: str, row: Mapping[str, Any]) -> System:
    options = {key: value for key, value in row.items() if key not in _TEXTS}
    said: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key in _TEXTS
    }
    said.setdefault("family", SUBJECTS[subject][0])
    return System(name=name, subject=subject, convention=Convention.from_dict({**options, "name": name}), **said)


def _read() -> dict[str, System]:
    text = (importlib.resources.files(__package__) / "systems.toml").read_text("utf-8")
    found = tomllib.loads(text)
    return {name: _system(subject, name, row) for subject in SUBJECTS for name, row in found.get(subject, {}).items()}


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
        if key is None:
            raise _unknown(name, None)
        return self._table[key]

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


_families: dict[str, Family] = {name: system.family for name, system in systems.items()}


def _names_of(family: Family | None) -> list[str]:
    """All names of a family and all their aliases, the names first; None has those of every family."""
    found = [system for system in systems.values() if family is None or system.family == family]
    return [*(system.name for system in found), *(alias for system in found for alias in system.aliases)]


def _fix(typed: str, family: Family | None) -> str:
    """What to do about a name that is not there."""
    exactly = written_otherwise(typed, _names_of(family))
    said = "" if exactly else asked_for(typed, family)
    if said:
        return said
    own = exactly or meant(typed, _names_of(family))
    other = [] if own or family is None else meant(typed, _names_of(None))
    if other:
        return f"did you mean {door(systems[conventions.canonical(other[0]) or ''].family, other[0])}?"
    found = own or alike(typed, _names_of(family))
    return f"did you mean {_listed(found)}?" if found else "pass a Convention for anything else"


def _listed(names: list[str]) -> str:
    """A few names, one for each convention; of several families, with their family."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(conventions.canonical(name) or "", name)
    shown_names = {name: _families[canonical] for canonical, name in list(first.items())[:SHOWN]}
    mixed = len(set(shown_names.values())) > 1
    return " or ".join(f"{name!r} ({family})" if mixed else repr(name) for name, family in shown_names.items())


def _unknown(name: Any, family: Family | None) -> UnknownConventionError:
    fix = _fix(name if isinstance(name, str) else "", family)
    count = sum(family in (None, each) for each in _families.values())
    where = "names in posenc.conventions" if family is None else f"names of the {family} family"
    return UnknownConventionError(
        f"got convention {shown(name)}, but wanted one of the {count} {where}, "
        f"which `posenc conventions` lists; {fix}{'' if fix.endswith('?') else '.'}"
    )


def _of_other_family(name: str, canonical: str, family: Family) -> NoReturn:
    own = meant(name, _names_of(family))
    instead = f"did you mean {_listed(own)}? If not, use" if own else "use"
    refuse(
        f"convention {name!r}, which is of the {_families[canonical]} family",
        f"a name of the {family} family, such as {FAMILIES[family]!r}",
        f"{instead} {door(_families[canonical], name)}, or pass posenc.conventions[{name!r}] for its values here",
        error=ConventionError,
    )


def not_a_convention(given: Any) -> NoReturn:
    """Refuse what is neither a convention nor a name."""
    refuse(
        f"convention={shown(given)} of type {type(given).__name__}",
        "a name or a Convention",
        "leave it out for the usual one",
        error=DtypeError,
    )


def resolve(convention: str | Convention, family: Family | None = None) -> Convention:
    """The convention of a name, or the convention itself.

    With a family, names of others are refused, and those of its own are suggested; an object is taken as it is.

    >>> resolve("openai_whisper").layout
    'halves'
    >>> resolve("gptj", "rotary")
    Traceback (most recent call last):
    posenc.errors.ConventionError: got convention 'gptj', which is of the additive family, but wanted a name of the \
rotary family, such as 'llama'; did you mean 'gpt-j'? If not, use posenc.PositionalEncoding(dim, convention='gptj'), \
or pass posenc.conventions['gptj'] for its values here.
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        not_a_convention(convention)
    canonical = conventions.canonical(convention)
    if canonical is None:
        raise _unknown(convention, family)
    if family is not None and _families[canonical] != family:
        _of_other_family(convention, canonical, family)
    return conventions[canonical]

"""Which values bear the name of a system: its own options, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .record import Convention

# Name or alias -> the record of a system, once the table is read.
_systems: dict[str, Convention] = {}


def own_names(systems: Mapping[str, Convention]) -> None:
    """Keep names and aliases for the values of their systems."""
    _systems.update(systems)


def signature_of(convention: Convention) -> tuple[Any, ...]:
    """The name, and all options: both arithmetics of a system, exact and as released, have its name."""
    own = convention.arithmetic in ("exact", convention.released_as)
    options = [getattr(convention, f.name) for f in fields(convention) if f.name not in ("name", "arithmetic")]
    return (convention.name, *options, "own" if own else convention.arithmetic)


def bears_its_name(convention: Convention) -> bool:
    """Whether the name is no system's, or that of the system with these very options."""
    system = _systems.get((convention.name or "").replace("_", "-"))
    if system is None:
        return True
    if system.spacing == "explicit" and system.frequencies is None:
        # Left open by the system: whatever they are, they are its own.
        system = replace(system, frequencies=convention.frequencies, _named=None)
    return signature_of(convention)[1:] == signature_of(system)[1:]

"""What a rotary module is built from: its convention with the options passed beside it, its rule and its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..arguments.numbers import as_index
from ..convention import Convention
from ..convention.scaling import Scaling
from ..encoding.rotation import width_of
from ..errors import ConventionError, DtypeError, refuse, shown
from ..frequency import Stretch
from ..layout import Layout


def check_overrides(base: Any, layout: Any, rotary_dim: Any) -> None:
    """Refuse what is not of the type of its option, before anything is compared."""
    for name, value in (("base", base), ("rotary_dim", rotary_dim)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            refuse(
                f"{name}={shown(value):.80} of type {type(value).__name__}",
                "an int or a float",
                f"pass a number, or leave {name} out",
                error=DtypeError,
            )
    if layout is not None and not isinstance(layout, str):
        refuse(
            f"layout={shown(layout):.80} of type {type(layout).__name__}",
            "'interleaved' or 'halves'",
            "choose one of these",
            error=DtypeError,
        )


def overridden(
    convention: Convention,
    dim: int,
    base: float | None,
    layout: Layout | None,
    rotary_dim: float | None,
    scaled: Scaling,
) -> Convention:
    """The convention with what was passed beside it; two that contradict each other are refused."""
    check_overrides(base, layout, rotary_dim)
    if base is not None and scaled.base is not None and base != scaled.base:
        _contradiction(f"base={shown(base)}", f"rope_theta={scaled.base!r}")
    changes: dict[str, Any] = {
        "base": scaled.base if base is None else base,
        "rotary_dim": scaled.fraction if rotary_dim is None else rotary_dim,
        "layout": layout,
    }
    changes = {
        name: value for name, value in changes.items() if value is not None and getattr(convention, name) != value
    }
    changed = replace(convention, name=None, released_as=None, **changes) if changes else convention
    if rotary_dim is not None and scaled.fraction is not None:
        # 64 of 128 columns are half of them.
        one, other = (width_of(replace(changed, rotary_dim=each), dim) for each in (rotary_dim, scaled.fraction))
        if one != other:
            _contradiction(f"rotary_dim={shown(rotary_dim)}", f"partial_rotary_factor={scaled.fraction!r}")
    return changed


def one_rule(convention: Convention, scaled: Scaling) -> tuple[Convention, Stretch | None]:
    """The convention and the rule beside it; a rule that needs a length is taken out of the convention."""
    rule = scaled.stretch
    if convention.stretch is None or (rule is None and not convention.stretch.needs_length):
        return convention, rule
    if rule is not None:
        refuse(
            f"scaling beside {convention.label}, which is stretched already",
            "one rule",
            "leave scaling out, or pass a convention without one",
            error=ConventionError,
        )
    # Its name too: the rule is part of the system.
    return replace(convention, stretch=None, _named=None), convention.stretch


def checked_sections(sections: Sequence[int] | None, scaled: Scaling) -> tuple[int, ...] | None:
    """The pairs of each axis, as a tuple of ints."""
    if sections is None:
        return scaled.sections
    counts = [as_index(count) for count in sections] if isinstance(sections, (tuple, list)) else [None]
    made = tuple(count for count in counts if count is not None)
    # Of their type here: later they are the key of a cache, where 2.0 and 2 are one.
    if len(made) < len(counts):
        refuse(f"sections={shown(sections)}", "the pairs of each axis", "pass a tuple of ints", error=ConventionError)
    if scaled.sections is not None and made != scaled.sections:
        _contradiction(f"sections={shown(made)}", f"mrope_section={shown(scaled.sections)}")
    return made


def _contradiction(one: str, other: str) -> None:
    refuse(
        f"{one} beside {other} of scaling",
        "one of them, or both alike",
        f"leave {one.partition('=')[0]} out",
        error=ConventionError,
    )

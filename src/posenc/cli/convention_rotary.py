"""What there is to say of a rotary convention, as data: which columns of a head turn together, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .convention_facts import band

if TYPE_CHECKING:
    from ..convention import Convention
    from ..encoding.rotation import Rotation


def values(convention: Convention, dim: int) -> tuple[Any, ...]:
    """What decides how heads turn near a width."""
    rotation = _rotation_near(convention, dim)
    return rotation.width, rotation.layout, rotation.parts


def _rotation_near(convention: Convention, dim: int) -> Rotation:
    """The rotation at the largest width up to `dim` that the convention knows."""
    from ..encoding.rotation import rotation_of
    from ..errors import ConventionError

    for width in (*range(dim, 1, -1), *range(dim + 1, 64)):
        try:
            return rotation_of(convention, width)
        except ConventionError:
            continue
    return rotation_of(convention, 64)


def facts(convention: Convention, dim: int) -> dict[str, Any]:
    """The numbers of a head of `dim` columns. Raises `ConventionError` where it does not fit."""
    from ..convention.options import AXES
    from ..encoding.rotation import rotation_of

    rotation = rotation_of(convention, dim)
    axes = sorted(convention.axes, key=AXES.index)
    names = [axes[part.axis] if axes else None for part in rotation.parts]
    return {
        "dim": dim,
        "rotary_dim": rotation.width,
        "bands": [band(convention, part.ladder, name) for part, name in zip(rotation.parts, names, strict=True)],
        "pairs": _pairs(rotation, names),
        "widths": f"the width that turns is a multiple of {2 * rotation.axes}",
    }


def _pairs(rotation: Rotation, names: list[str | None]) -> list[str]:
    """Which columns of a head turn together, and by what, in the order of the pairs."""
    found: list[str] = []
    step, partner = (2, 1) if rotation.layout == "interleaved" else (1, rotation.width // 2)
    for part, name in zip(rotation.parts, names, strict=True):
        for pair in range(part.begin, part.end):
            first = step * len(found)
            found.append(f"(x{first}, x{first + partner}) by w{pair}{f' {name}' if name else ''}")
    return found

"""Rotary encoding: queries and keys turned by the phases of their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..convention import Convention, Plan, as_index, resolve
from ..errors import ConventionError, DtypeError, refuse
from ..frequency import Ladder
from ..layout import Layout
from ..trig.rounding import FORMATS
from .angles import Turns, of_positions, of_range
from .arguments import PositionsLike, as_positions
from .turn import turned, working_dtype


class Part(NamedTuple):
    """Pairs [begin, end) of a ladder, turned by one axis of the positions."""

    axis: int
    ladder: Ladder
    begin: int
    end: int


class Rotation(NamedTuple):
    """What rotary needs of a convention at one width of a head: how many columns turn, how, and by which ladders.

    parts stand in the order of the pairs.
    """

    width: int
    layout: Layout
    parts: tuple[Part, ...]
    axes: int
    label: str

    @property
    def pairs(self) -> int:
        """Pairs that turn."""
        return self.width // 2


def width_of(convention: Convention, head_dim: int) -> int:
    """How many columns of a head turn. Raises `ConventionError` where that is odd, or more than there are."""
    given = convention.rotary_dim
    width = head_dim if given is None else int(head_dim * given) if isinstance(given, float) else given
    if width % 2 or not 2 <= width <= head_dim:
        said = "" if given is None else f" of rotary_dim={given!r}"
        refuse(
            f"a rotary width of {width}{said} for heads of {head_dim}",
            f"an even width from 2 to {head_dim}: pairs turn",
            "pass rotary_dim with an even number of columns",
            error=ConventionError,
        )
    return width


@lru_cache(maxsize=64)
def rotation_of(convention: Convention, head_dim: int, name: str | None) -> Rotation:  # noqa: ARG001 - part of the key
    """A convention at one width of a head."""
    width = width_of(convention, head_dim)
    plan = replace(convention, rotary_dim=None).plan(width)
    _check_plan(plan)
    parts = tuple(Part(block.axis or 0, block.ladder, 0, block.ladder.pairs) for block in plan.blocks)
    return Rotation(width, convention.layout, parts, plan.axes, convention.label)


def _check_plan(plan: Plan) -> None:
    rule = plan.convention
    sound = plan.is_turned and plan.gain == 1 and plan.width == plan.dim and rule.axis_layout != "sum"
    if not sound or rule.order != "sine-first" or rule.zero_rows != () or plan.dim != 2 * _pairs(plan):
        refuse(
            f"convention {rule.label}",
            "one whose pairs turn and nothing else: no gain, no included input, no padded columns, sine first",
            'pass a rotary name, as "llama"',
            error=ConventionError,
        )


def _pairs(plan: Plan) -> int:
    return sum(block.ladder.pairs for block in plan.blocks)


def sectioned(rotation: Rotation, sections: Sequence[int]) -> Rotation:
    """One ladder shared out among axes: `sections` holds the pairs of each axis of the positions, in their order."""
    counts = [as_index(count) for count in sections]
    if (
        rotation.axes != 1
        or None in counts
        or sum(c or 0 for c in counts) != rotation.pairs
        or min(c or 0 for c in counts) < 1
    ):
        refuse(
            f"sections={tuple(sections)!r}",
            f"positive numbers of pairs that add up to {rotation.pairs}, and a convention of one axis",
            "pass mrope_section of the model",
            error=ConventionError,
        )
    ladder, begin, parts = rotation.parts[0].ladder, 0, []
    for axis, count in enumerate(counts):
        parts.append(Part(axis, ladder, begin, begin + (count or 0)))
        begin += count or 0
    return rotation._replace(parts=tuple(parts), axes=len(parts))


def _joined(made: list[tuple[Part, Turns]]) -> Turns:
    """Cosines and sines of all parts, side by side."""
    cosines = [cosine[..., part.begin : part.end] for part, (cosine, _) in made]
    sines = [sine[..., part.begin : part.end] for part, (_, sine) in made]
    return (cosines[0], sines[0]) if len(made) == 1 else (torch.cat(cosines, -1), torch.cat(sines, -1))


def turns_of_range(start: int, length: int, rotation: Rotation, dtype: torch.dtype) -> Turns:
    """Cosine and sine (length, pairs) of start, start + 1, ..., on the CPU; all axes hold the same position."""
    return _joined([(part, of_range(start, length, part.ladder, dtype)) for part in rotation.parts])


def turns_of(positions: Tensor, rotation: Rotation, dtype: torch.dtype) -> Turns:
    """Cosine and sine (..., pairs) of positions (...) or (..., axes), on their device."""
    made = []
    for part in rotation.parts:
        places = positions if rotation.axes == 1 else positions[..., part.axis]
        made.append((part, of_positions(places, part.ladder, dtype)))
    return _joined(made)


def check_turnable(x: Any, name: str, seq_dim: int) -> int:
    """A float tensor with a sequence axis before its last one; returns that axis, counted from the front."""
    if not isinstance(x, Tensor) or x.dtype not in FORMATS or x.layout != torch.strided:
        kind = f"{x.layout} of {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
        refuse(f"{name} {kind}", "a dense tensor of floats", f"pass {name} as attention takes it", error=DtypeError)
    axis = as_index(seq_dim)
    if axis is None:
        refuse(
            f"seq_dim={seq_dim!r}", "an int", "pass -2 for (..., S, dim), -3 for (..., S, heads, dim)", error=DtypeError
        )
    whole = axis + x.ndim if axis < 0 else axis
    if x.ndim < 2 or not 0 <= whole < x.ndim - 1:
        refuse(
            f"seq_dim={seq_dim} for {name} of shape {tuple(x.shape)}",
            "an axis before the last one",
            "pass -2 for (..., S, dim), -3 for (..., S, heads, dim)",
        )
    return whole


def check_places(positions: PositionsLike, x: Tensor, axis: int, rotation: Rotation) -> Tensor:
    """Positions (S,) or (B, S), with one entry more for each axis where there are several, fitting x."""
    places = as_positions(positions)
    shape = tuple(places.shape[:-1] if rotation.axes > 1 else places.shape)
    entry = rotation.axes == 1 or (places.ndim > 0 and places.shape[-1] == rotation.axes)
    length, batch = x.shape[axis], x.shape[0] if axis > 0 else 1
    if not entry or shape not in {(length,), (batch, length), (1, length)}:
        more = f", {rotation.axes}" if rotation.axes > 1 else ""
        refuse(
            f"positions of shape {tuple(places.shape)} for {tuple(x.shape)} with the sequence on axis {axis}",
            f"({length}{more or ','}) or ({batch}, {length}{more})",
            "pass one position for each token",
        )
    if places.device != x.device and isinstance(positions, Tensor) and places.ndim:
        refuse(f"positions on {places.device} for a tensor on {x.device}", "one device", "move the positions")
    return places.squeeze(0) if len(shape) == 2 and shape[0] == 1 else places


def rotate(x: Tensor, positions: PositionsLike, rotary: str | Convention = "llama", *, seq_dim: int = -2) -> Tensor:
    """Turn queries or keys (..., S, dim) by their positions -> the same shape and dtype.

    Law: the pair (a, b) of frequency w at position p becomes (a cos wp - b sin wp, b cos wp + a sin wp): lengths
    stay, and the score of a turned query and key depends on the distance of their positions alone. Values are never
    turned: only queries and keys have scores. Cosine and sine are rounded once to float32 (float64 for float64),
    half precision is turned in float32 and rounded once. |error| <= 2^-24 (2 |a cos| + 2 |b sin| + |y|), plus half
    a unit of a half dtype. Nothing is scaled: attention factors belong to `RotaryEmbedding`.

    Args:
        x: floats, the last axis a head.
        positions: (S,) or (B, S), B the first axis of x; integers or floats; (..., axes) for several axes.
        rotary: a rotary name in `posenc.conventions`, or a `Convention`.
        seq_dim: the axis of the sequence: -2 for (..., S, dim), -3 for (..., S, heads, dim).

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Su et al. 2021, RoFormer, section 3.2.

    >>> rotate(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), [1])
    tensor([[-1.9841,  1.9599,  2.4624,  4.0198]])
    >>> rotate(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), [1], "gptj-rotary")
    tensor([[-1.1426,  1.9221,  2.9599,  4.0298]])
    """
    axis = check_turnable(x, "x", seq_dim)
    convention = resolve(rotary)
    rotation = rotation_of(convention, x.shape[-1], convention.name)
    places = check_places(positions, x, axis, rotation)
    cosine, sine = turns_of(places.to(x.device), rotation, working_dtype(x.dtype))
    return turned(x, cosine, sine, rotation.layout, axis)

"""What the pairs of a rotation are turned by, at a range of positions or at given ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ConventionError, refuse
from ..tracing import is_plain
from .angles import ANGLES, BLOCK, Angles, as_released, computed, of_positions, of_range
from .rotation import Part, Ready, Rotation
from .turn import Turns, spread


def _joined(parts: Sequence[Part], made: Sequence[Angles]) -> Turns:
    """The angles of all parts, side by side."""
    if len(made) == 1:
        return Turns(*made[0])
    cosines = [cosine[..., part.begin : part.end] for part, (cosine, _) in zip(parts, made, strict=True)]
    sines = [sine[..., part.begin : part.end] for part, (_, sine) in zip(parts, made, strict=True)]
    return Turns(torch.cat(cosines, -1), torch.cat(sines, -1))


def on_all_axes(positions: Tensor, rotation: Rotation) -> Tensor:
    """Positions (...) as the same one on every axis, (..., axes) where there are several."""
    return positions if rotation.axes == 1 else positions.unsqueeze(-1).expand(*positions.shape, rotation.axes)


def turns_of_range(start: int, length: int, rotation: Rotation, dtype: torch.dtype, gain: float = 1.0) -> Turns:
    """Turns (length, pairs) of start, start + 1, ..., on the CPU, the same on all axes; not to be written to."""
    parts = rotation.parts
    if rotation.recipe != "exact":
        places = torch.arange(length, dtype=torch.int64, device="cpu") + start
        return turns_of(on_all_axes(places, rotation), rotation, dtype, gain)
    if rotation.axes > 1 and len({part.ladder for part in parts}) == 1 and parts[-1].end == rotation.pairs:
        # Sections of one ladder, all at the same position.
        return Turns(*of_range(start, length, parts[0].ladder, dtype, gain))
    return _joined(parts, [of_range(start, length, part.ladder, dtype, gain) for part in parts])


def turns_of_few(start: int, length: int, rotation: Rotation, dtype: torch.dtype, gain: float = 1.0) -> Turns:
    """The same under their columns: a decoder that asks for the next position finds it ready."""
    first = start // BLOCK * BLOCK
    begin = start - first
    if begin + length > BLOCK or rotation.recipe != "exact":
        return spread(turns_of_range(start, length, rotation, dtype, gain), rotation.layout)

    def make() -> Turns:
        with torch.inference_mode(False), torch.no_grad():
            return spread(turns_of_range(first, BLOCK, rotation, dtype, gain), rotation.layout)

    key = (rotation.parts, rotation.layout, dtype, gain, first)
    cosine, sine, _ = ANGLES.get(key, make, lambda made: 2 * made.cosine.nbytes)
    return Turns(cosine[begin : begin + length], sine[begin : begin + length], is_spread=True)


def turns_of(positions: Tensor, rotation: Rotation, dtype: torch.dtype, gain: float = 1.0) -> Turns:
    """Turns (..., pairs) of positions (...), or (..., axes) where there are several, readable on the CPU."""
    made = []
    for part in rotation.parts:
        places = _of_axis(positions, part, rotation)
        if rotation.recipe == "exact":
            made.append(of_positions(places, part.ladder, dtype, gain))
        else:
            made.append(as_released(places, part.ladder, rotation.recipe, dtype, gain))
    return _joined(rotation.parts, made)


def computed_turns(positions: Tensor, ready: Ready, dtype: torch.dtype, gain: float = 1.0) -> Turns:
    """The same on any device and in any graph, on the device of the positions, without a look at a value."""
    rotation = ready.rotation
    if rotation.recipe != "exact":
        if not is_plain():
            refuse(
                f"convention {rotation.label} inside a compiled or exported graph",
                "eager mode, in which its kernels were recorded",
                "use the exact convention",
                error=ConventionError,
            )
        return turns_of(positions.cpu(), rotation, dtype, gain)
    places = positions.unbind(-1) if len(ready.steps) > 1 else (positions,)
    made = [
        computed(place, step, dtype, gain) for place, steps in zip(places, ready.steps, strict=True) for step in steps
    ]
    if len(made) == 1:
        return Turns(*made[0])
    cosines, sines = (torch.cat(parts, -1) for parts in zip(*made, strict=True))
    if ready.order is None:
        return Turns(cosines, sines)
    return Turns(cosines.index_select(-1, ready.order), sines.index_select(-1, ready.order))


def _of_axis(positions: Tensor, part: Part, rotation: Rotation) -> Tensor:
    return positions if rotation.axes == 1 else positions[..., part.axis]

"""How entries of checkpoints are read as frequencies, angles, cosines and sines of rotary pairs, by name and shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from torch import Tensor

from ..encoding.rotation import Rotation

Kind = Literal["frequency", "angle", "cosine", "sine"]
# What systems save under these names; under the others, frequencies, angles or both cosines and sines.
_MEMBERS: dict[str, Kind] = {
    "cos": "cosine", "freqs_cos": "cosine", "cos_cached": "cosine",
    "sin": "sine", "freqs_sin": "sine", "sin_cached": "sine",
}  # fmt: skip
ROTARY_NAMES = ("inv_freq", "freqs", "freqs_cis", *_MEMBERS)


class Part(NamedTuple):
    """Rows (L, pairs) of one kind, or frequencies (pairs,), as a checkpoint holds them."""

    kind: Kind
    values: Tensor


class Reading(NamedTuple):
    """One way to read an entry, and the layout that it is for: that of the module, or the other one."""

    parts: tuple[Part, ...]
    layout: Literal["own", "other"] = "own"


def shape_fault(name: str, value: Tensor, rotation: Rotation) -> str:
    """What is wrong with an entry that cannot be read, as a sentence."""
    pairs = rotation.pairs
    ladder = f"({pairs},), one frequency for each pair that turns"
    fix = "build the module with the dim, rotary_dim and sections of the checkpoint"
    if name == "inv_freq":
        shapes = ladder
    elif not _has_one_position(rotation):
        shapes, fix = "inv_freq, since the rows of a map do not tell their positions", "remove the key"
    elif name in _MEMBERS:
        shapes = f"(L, {pairs}) or (L, {2 * pairs})"
    else:
        shapes = f"complex (L, {pairs}) or real (L, {pairs}, 2)" + (f" or {ladder}" if name == "freqs" else "")
    return f"got {name!r} of {value.dtype} and shape {tuple(value.shape)}, but wanted {shapes}; {fix}."


def readings(name: str, value: Tensor, rotation: Rotation) -> Iterator[Reading]:
    """All ways to read an entry that its shape allows."""
    if name in ("inv_freq", "freqs") and value.ndim and value.numel() == value.shape[-1]:
        ladders = {part.ladder for part in rotation.parts}
        # Axes that have one ladder each may have it once for all.
        shared = rotation.parts[0].end if len(ladders) == 1 and not _is_whole(rotation) else rotation.pairs
        if value.numel() in (rotation.pairs, shared) and not value.is_complex():
            yield Reading((Part("frequency", value.reshape(-1)),))
    # The rows of a map do not tell their positions.
    if name != "inv_freq" and _has_one_position(rotation):
        yield from _turns(name, value, rotation)


def _turns(name: str, value: Tensor, rotation: Rotation) -> Iterator[Reading]:
    """Those as rows, one for each position."""
    pairs, kind = rotation.pairs, _MEMBERS.get(name, "angle")
    if value.ndim < 2:
        return
    if value.is_complex():
        rows = _rows(value, pairs) if name in ("freqs", "freqs_cis") else None
        if rows is not None:
            yield Reading((Part("cosine", rows.real), Part("sine", rows.imag)))
        return
    if name in ("freqs", "freqs_cis") and value.shape[-2:] == (pairs, 2):
        rows = _rows(value.flatten(-2), 2 * pairs) if value.ndim > 2 else None
        if rows is not None:
            yield Reading((Part("cosine", rows[:, 0::2]), Part("sine", rows[:, 1::2])))
    if name == "freqs_cis":
        return
    rows = _rows(value, pairs)
    if rows is not None:
        yield Reading((Part(kind, rows),))
    rows = _rows(value, 2 * pairs)
    if rows is not None:
        halves = Part(kind, rows[:, :pairs]), Part(kind, rows[:, pairs:])
        neighbours = Part(kind, rows[:, 0::2]), Part(kind, rows[:, 1::2])
        own, other = (halves, neighbours) if rotation.layout == "halves" else (neighbours, halves)
        yield Reading(own)
        yield Reading(other, "other")


def _rows(value: Tensor, width: int) -> Tensor | None:
    """(L, width) of a tensor whose other axes have size 1; None where it is something else."""
    long = [size for size in value.shape[:-1] if size != 1]
    if value.shape[-1] != width or len(long) > 1 or not value.numel():
        return None
    return value.reshape(-1, width)


def _has_one_position(rotation: Rotation) -> bool:
    """Whether text has one position on all axes: there is one axis, or one ladder shared out among them."""
    return rotation.axes == 1 or (len({part.ladder for part in rotation.parts}) == 1 and _is_whole(rotation))


def _is_whole(rotation: Rotation) -> bool:
    return rotation.parts[-1].end == rotation.pairs

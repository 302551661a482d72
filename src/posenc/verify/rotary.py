"""Turned queries and keys against the reference: their error in parts of what is promised.

Cosine and sine are right to 200 bits; the two products and the sum of a value are formed in float64, which is off by
less than 2^-28 of the bound.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import reference
from ..convention import Convention, systems
from ..encoding.rotary import rotate
from ..encoding.rotation import Rotation, ready_rotation, rotation_of
from ..encoding.turn import turned, working_dtype
from ..encoding.turns import computed_turns
from ..modules.rotary import RotaryEmbedding
from . import check_device
from .error import Exact, Floats, scale
from .sample import NEAR, anchor

VALUES = 500_000
DIMS = (64, 128)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
UNIT = 2.0**-24
BOUND = "2^-24 (2 |a cos| + 2 |b sin| + |y|), plus half a unit of a half dtype"


class Unit(NamedTuple):
    """Heads of one rotary system: a run of `length` positions from each anchor."""

    name: str
    convention: Convention
    dim: int
    anchors: list[int]
    length: int


@dataclass
class Row:
    """What was found on one path, in one dtype, at positions near one size.

    `largest_part` is the largest error in parts of its bound, and `worst` says where that is.
    """

    path: str
    dtype: str
    near: str
    values: int = 0
    largest_part: float = 0.0
    largest_absolute: float = 0.0
    worst: dict[str, Any] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether every value keeps its bound."""
        return self.largest_part <= 1

    def add(self, absolute: Floats, part: Floats, unit: Unit, run: int) -> None:
        """Take in the errors (length, dim) of one run of a unit, as they are and in parts of their bounds."""
        self.values += part.size
        self.largest_absolute = max(self.largest_absolute, float(absolute.max()))
        top = int(part.argmax())
        if not self.worst or part.flat[top] > self.largest_part:
            self.largest_part = float(part.flat[top])
            row, column = divmod(top, unit.dim)
            position = unit.anchors[run] + row
            self.worst = {"convention": unit.name, "dim": unit.dim, "position": position, "column": column}

    def document(self) -> dict[str, Any]:
        """The row for `json`, infinite errors as null."""
        plain = {k: None if v == math.inf else v for k, v in asdict(self).items()}
        return {**plain, "sound": self.is_sound}


def fitting() -> list[tuple[str, Convention, int]]:
    """The rotary systems that differ, at every width of `DIMS`: those of one axis whose ladder nothing stretches."""
    found: dict[object, tuple[str, Convention, int]] = {}
    for system in systems.values():
        rule = system.convention
        plain = not rule.axes and rule.stretch is None and rule.last is None and rule.spacing == "geometric"
        if system.family == "rotary" and plain:
            for dim in DIMS:
                rotation = rotation_of(rule, dim)
                found.setdefault((dim, rotation.parts, rotation.layout), (system.name, rule, dim))
    return list(found.values())


def units(values: int, seed: int) -> Iterator[Unit]:
    """At least `values` values in all, a run near each size for each system and width; the seed decides where."""
    draw = random.Random(seed)
    chosen = fitting()
    for name, convention, dim in chosen:
        length = max(1, math.ceil(values / len(chosen) / len(NEAR) / dim))
        yield Unit(name, convention, dim, [anchor(draw, *near, length) for near in NEAR.values()], length)


def exact_turns(anchors: list[int], length: int, rotation: Rotation) -> tuple[Floats, Floats]:
    """The exact cosines and sines (runs, length, pairs) of runs of positions, each to the nearest float64."""
    ladder = rotation.parts[0].ladder
    made = reference.columns(
        anchors,
        list(range(length)),
        rotation.width,
        base=ladder.base,
        layout="halves",
        position_offset=ladder.offset,
        position_scale=ladder.scale,
    )
    both = np.array(made.high).T.reshape(len(anchors), length, rotation.width)
    return both[..., rotation.pairs :], both[..., : rotation.pairs]


def judged(x: Tensor, made: Tensor, cosine: Floats, sine: Floats, rotation: Rotation) -> tuple[Floats, Floats]:
    """The errors (n, dim) of heads x (n, dim) that were turned by these, and the same in parts of the bound.

    Columns that do not turn may not change at all. NaN errs by infinity.
    """
    before: Floats = x.double().numpy()
    after: Floats = made.detach().to("cpu", torch.float64).numpy()
    true, allowed = before.copy(), np.zeros_like(before)
    pairs = rotation.pairs
    if rotation.layout == "interleaved":
        firsts, seconds = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    else:
        firsts, seconds = slice(0, pairs), slice(pairs, 2 * pairs)
    a, b = before[:, firsts], before[:, seconds]
    for columns, kept, moved in ((firsts, a * cosine, -b * sine), (seconds, b * cosine, a * sine)):
        true[:, columns] = kept + moved
        allowed[:, columns] = UNIT * (2 * np.abs(kept) + 2 * np.abs(moved) + np.abs(kept + moved))
    if made.dtype != torch.float32:
        half = scale(Exact(true, np.zeros_like(true)), made.dtype).unit / 2
        allowed[:, : rotation.width] += half[:, : rotation.width]
    error = np.abs(after - true)
    error = np.where(np.isfinite(error), error, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return error, np.where(error == 0, 0.0, error / allowed)


def _positions(unit: Unit, run: int) -> Tensor:
    return torch.arange(unit.length) + unit.anchors[run]


def _by_rotate(x: Tensor, unit: Unit, run: int) -> Tensor:
    # Shuffled, so that neighbours do not come together.
    order = torch.randperm(unit.length, generator=torch.Generator().manual_seed(run))
    made = torch.empty_like(x)
    made[order.to(x.device)] = rotate(x[order], _positions(unit, run)[order].to(x.device), unit.convention)
    return made


def _by_module(x: Tensor, unit: Unit, run: int) -> Tensor:
    made: Tensor = RotaryEmbedding(unit.dim, unit.convention)(x, x, offset=unit.anchors[run])[0]
    return made


def _by_computed(x: Tensor, unit: Unit, run: int) -> Tensor:
    ready = ready_rotation(unit.convention, unit.dim, x.device)
    turns = computed_turns(_positions(unit, run), ready, working_dtype(x.dtype))
    return turned(x, turns, ready.rotation.layout, 0)


PATHS = {"rotate": _by_rotate, "module": _by_module, "computed": _by_computed}


def measure(
    *,
    values: int = VALUES,
    device: str = "cpu",
    seed: int = 0,
    on_values: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Judge `rotate`, `RotaryEmbedding` and the form of both that compilers run: a row for each size of position.

    Args:
        values: how many values, at least; each is judged on every path in every dtype.
        device: where queries are turned.
        seed: of the positions and the queries.
        on_values: hears how many values are done, and how many there are.

    Raises:
        InputError: where the device is none of this machine.

    >>> rows = measure(values=1)
    >>> all(row.is_sound for row in rows), max(row.largest_part for row in rows) > 0.1
    (True, True)
    """
    where = check_device(device)
    # Elsewhere the others run what is computed here beside them.
    paths = [path for path in PATHS if path != "computed" or where.type == "cpu"]
    rows = {
        (path, dtype, near): Row(path, str(dtype).removeprefix("torch."), near)
        for path in paths
        for dtype in DTYPES
        for near in NEAR
    }
    draw = torch.Generator().manual_seed(seed)
    done = 0
    for unit in units(values, seed):
        rotation = rotation_of(unit.convention, unit.dim)
        cosines, sines = exact_turns(unit.anchors, unit.length, rotation)
        for run, near in enumerate(NEAR):
            heads = torch.randn(unit.length, unit.dim, generator=draw)
            for dtype in DTYPES:
                x = heads.to(dtype)
                for path in paths:
                    made = PATHS[path](x.to(where), unit, run)
                    rows[path, dtype, near].add(*judged(x, made, cosines[run], sines[run], rotation), unit, run)
            done += heads.numel()
            if on_values is not None:
                on_values(min(done, values), values)
    return list(rows.values())


def measure_released(near: int, length: int = 200, dim: int = 128) -> dict[str, Any]:
    """What the float32 arithmetic of Llama as released is off by near a position, for comparison."""
    start = near - length // 2
    x = torch.randn(length, dim, generator=torch.Generator().manual_seed(0))
    rule = systems["llama"].convention
    rotation = rotation_of(rule, dim)
    made = rotate(x, torch.arange(start, start + length), rule.as_released())
    cosines, sines = exact_turns([start], length, rotation)
    absolute, part = judged(x, made, cosines[0], sines[0], rotation)
    return {
        "near": near,
        "dim": dim,
        "values": part.size,
        "beyond": int((part > 1).sum()),
        "largest_absolute": float(absolute.max()),
    }

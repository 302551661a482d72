"""What a convention comes to at one width, as a compiler may take it: a constant."""

from __future__ import annotations

import operator
from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..convention import Convention, Plan, not_a_convention, resolve
from ..errors import ConventionError, refuse
from ..frequency import Stretch
from ..phase import Steps, steps_apart
from ..tracing import constant_in_graphs, with_fixed_sizes

_OPTIONS = tuple(f.name for f in fields(Convention))


_NUMBERS = tuple(f.name for f in fields(Stretch))
# Before a float that is written out, and the numbers of a rule; no option is such a word.
_FLOAT, _STRETCH = "float ", "stretch "
_CPU = torch.device("cpu")


class Prepared(NamedTuple):
    """A plan, for each ladder of each of its blocks the steps (9, 3, pairs) that `phase_of` needs, and the columns.

    counts: how many sines and cosines each block has columns for; order (dim,): for each column, where it is among
    these values of all blocks side by side, then the inputs, then one zero; empty where the plan is plain.
    """

    plan: Plan
    steps: tuple[tuple[Steps, ...], ...]
    counts: tuple[tuple[int, int], ...]
    order: Tensor


def packed(convention: Any) -> Any:
    """What a compiler may hand to a function that it takes for a constant: for a convention its options, one by one.

    An object that the traced function itself has made would arrive with its defaults.
    """
    if isinstance(convention, tuple):
        # What this returns is a tuple, what a caller passes must not be one.
        not_a_convention(convention)
    if torch.compiler.is_compiling() and isinstance(convention, Convention):
        return tuple([_fixed(getattr(convention, option)) for option in _OPTIONS])
    return convention


def _fixed(value: Any) -> Any:
    """An option as a constant: a compiler that leaves sizes open leaves numbers open too, until they are fixed."""
    if isinstance(value, int) and not isinstance(value, bool):
        return operator.index(value)
    if isinstance(value, float):
        return _FLOAT + value.hex()
    if isinstance(value, Stretch):
        return (_STRETCH, *[_fixed(getattr(value, number)) for number in _NUMBERS])
    return tuple([_fixed(each) for each in value]) if isinstance(value, tuple) else value


def _read(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FLOAT):
        return float.fromhex(value.removeprefix(_FLOAT))
    if not isinstance(value, tuple):
        return value
    if value and value[0] == _STRETCH:
        return Stretch(**dict(zip(_NUMBERS, map(_read, value[1:]), strict=True)))
    return tuple(map(_read, value))


def unpacked(convention: Any) -> Any:
    """What `packed` was given."""
    if not isinstance(convention, tuple):
        return convention
    return Convention(**{option: _read(value) for option, value in zip(_OPTIONS, convention, strict=True)})


def closed(size: int) -> int:
    """A width as a constant, where a compiler has left it open; whatever else came is for others to refuse."""
    if torch.compiler.is_compiling() and isinstance(size, (int, torch.SymInt)) and not isinstance(size, bool):
        return operator.index(size)
    return size


def prepared(convention: str | Convention, dim: int, device: torch.device = _CPU) -> Prepared:
    """The plan and its steps, on the device."""
    return _constant(packed(convention), closed(dim), device)


@constant_in_graphs
def _constant(convention: Any, dim: int, device: torch.device) -> Prepared:
    rule = resolve(unpacked(convention))
    if rule.rotary_dim is not None:
        refuse(
            f"convention {rule.label} with rotary_dim={rule.rotary_dim}",
            "an encoding of whole rows",
            "use posenc.rotate or posenc.RotaryEmbedding, which turn a part of each head",
            error=ConventionError,
        )
    plan = rule.plan(dim)
    steps = tuple(tuple(steps_apart(ladder, device) for ladder in block.ladders) for block in plan.blocks)
    counts, order = ((), ()) if plan.is_plain else _columns(plan)
    return Prepared(plan, steps, counts, with_fixed_sizes(torch.tensor(order, dtype=torch.int64, device=device)))


@lru_cache(maxsize=64)
def _columns(plan: Plan) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The counts and the order of a plan."""
    places, counts, total = dict[int, int](), [], 0
    for block in plan.blocks:
        sines, cosines = (range(plan.width)[part] for part in (block.columns.sines, block.columns.cosines))
        counts.append((len(sines), len(cosines)))
        for column in (*sines, *cosines):
            places[column] = total
            total += 1
    for _, column in plan.inputs:
        places[column] = total
        total += 1
    return tuple(counts), tuple(places.get(column, total) for column in range(plan.dim))

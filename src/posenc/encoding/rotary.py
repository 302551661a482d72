"""Rotary encoding: queries or keys turned by the phases of their positions."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from ..arguments.numbers import as_index
from ..arguments.tensors import check_dense
from ..convention import Convention, resolve
from ..errors import DtypeError, refuse, shown
from ..trig.rounding import FORMATS
from .arguments import PositionsLike, as_positions, is_readable, with_float64
from .rotation import ready_rotation
from .turn import turned, working_dtype
from .turns import computed_turns, turns_of

_CPU = torch.device("cpu")
AXES_FIX = "pass -2 for (..., S, dim), -3 for (..., S, heads, dim)"


def check_turnable(x: Any, name: str, seq_dim: int) -> int:
    """A dense float tensor with a sequence axis before its last one; returns that axis, counted from the front."""
    if not isinstance(x, Tensor) or x.dtype not in FORMATS:
        kind = f"of {x.dtype}" if isinstance(x, Tensor) else f"of type {type(x).__name__}"
        wanted = "a dense tensor of float64, float32, bfloat16 or float16"
        refuse(f"{name} {kind}", wanted, f"pass {name} as attention takes it", error=DtypeError)
    if x.is_nested or x.layout is not torch.strided:
        check_dense(x, name)
    axis = seq_dim + x.ndim if seq_dim < 0 else seq_dim
    if not 0 <= axis < x.ndim - 1:
        refuse(
            f"seq_dim={shown(seq_dim)} for {name} of shape {tuple(x.shape)}", "an axis before the last one", AXES_FIX
        )
    return axis


def check_seq_dim(seq_dim: Any) -> int:
    """The axis of the sequence as an int that is not the last one."""
    axis = as_index(seq_dim)
    if axis is None:
        refuse(f"seq_dim={shown(seq_dim)}", "an int", AXES_FIX, error=DtypeError)
    if axis == -1:
        refuse(f"seq_dim={shown(seq_dim)}", "an axis before the last one", AXES_FIX)
    return axis


def check_places(positions: PositionsLike, x: Tensor, axis: int, axes: int) -> Tensor:
    """Positions (S,) or (B, S), with one axis more where positions have several numbers, int64 or float64."""
    places = as_positions(positions)
    numbers = (axes,) if axes > 1 else ()
    shapes = [(x.shape[axis], *numbers)]
    if axis > 0:
        shapes += [(x.shape[0], x.shape[axis], *numbers), (1, x.shape[axis], *numbers)]
    for shape in shapes:
        # Size by size: a set of shapes would fix what a graph has left open.
        if places.ndim == len(shape) and all(a == b for a, b in zip(places.shape, shape, strict=True)):
            break
    else:
        refuse(
            f"positions of shape {tuple(places.shape)} for {tuple(x.shape)} with the sequence on axis {axis}",
            " or ".join(dict.fromkeys(str(tuple(shape)) for shape in shapes)),
            f"pass {'its numbers on all axes, last,' if numbers else 'one position'} for each token, or seq_dim where "
            "the sequence is on another axis",
        )
    if isinstance(positions, Tensor) and positions.device != x.device:
        refuse(f"positions on {positions.device} for a tensor on {x.device}", "one device", "move the positions")
    return places


def _refuse_module(module: torch.nn.Module) -> NoReturn:
    kind = type(module).__name__
    fix = 'pass a name, as in "llama", and for a scaled model build posenc.RotaryEmbedding'
    if callable(getattr(module, "rotate", None)):
        fix = "call its own method, module.rotate(x, positions=positions), which keeps its scaling"
    refuse(f"rotary of type {kind}", "a rotary name or a Convention", fix, error=DtypeError)


def rotate(x: Tensor, positions: PositionsLike, rotary: str | Convention = "llama", *, seq_dim: int = -2) -> Tensor:
    """Turn queries or keys (..., S, dim) by their positions -> the same shape and dtype.

    Law: the pair (a, b) of frequency w at position p becomes (a cos wp - b sin wp, b cos wp + a sin wp): lengths
    stay, and the score of a turned query and key depends only on the distance of their positions. A head of
    width 4, as a column whose two pairs have the phases s and t at its position, is multiplied by

        layout "halves"                        layout "interleaved"
        [cos s    0    -sin s    0   ]         [cos s  -sin s    0       0   ]
        [  0    cos t    0    -sin t ]         [sin s   cos s    0       0   ]
        [sin s    0     cos s    0   ]         [  0       0    cos t  -sin t ]
        [  0    sin t    0     cos t ]         [  0       0    sin t   cos t ]

    Turn queries and keys, never values: what attention adds up are values, and they have no scores.
    Cosine and sine are rounded once to float32 (float64 for float64), half precision is turned in float32 and
    rounded once. |error| <= 2^-24 (2 |a cos| + 2 |b sin| + |y|), plus half a unit of a half dtype. Nothing is scaled:
    scaling and attention factors belong to `RotaryEmbedding`, whose method `rotate` turns one tensor with them.

    Args:
        x: floats, the last axis a head; a slice of heads where only some are turned.
        positions: (S,) or (B, S), B the first axis of x; integers or floats; with several axes (S, axes) or
            (B, S, axes). float16 and bfloat16 below 2048 and 256, as in `encode`.
        rotary: a rotary name in `posenc.conventions`, or a `Convention` whose pairs turn and nothing else. xPos is
            not offered: its gain on keys, (1.4 / 0.4)^(distance / 512) in the first pair, grows with the distance
            from a centre, and leaves float16 after 4532 positions.
        seq_dim: the axis of the sequence: -2 for (..., S, dim), -3 for (..., S, heads, dim).

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Su et al. 2021, RoFormer, section 3.2.

    >>> rotate(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), [1])
    tensor([[-1.9841,  1.9599,  2.4624,  4.0198]])
    >>> rotate(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), [1], "gptj-rotary")
    tensor([[-1.1426,  1.9221,  2.9599,  4.0298]])
    >>> rotate(torch.eye(4), [1, 1, 1, 1]).mT
    tensor([[ 0.5403,  0.0000, -0.8415,  0.0000],
            [ 0.0000,  0.9999,  0.0000, -0.0100],
            [ 0.8415,  0.0000,  0.5403,  0.0000],
            [ 0.0000,  0.0100,  0.0000,  0.9999]])
    """
    axis = check_turnable(x, "x", check_seq_dim(seq_dim))
    if isinstance(rotary, torch.nn.Module):
        _refuse_module(rotary)
    convention = resolve(rotary, "rotary")
    dtype = working_dtype(x.dtype)
    # Lists of numbers are on the CPU, whatever the device of x.
    device = with_float64(positions).device if isinstance(positions, Tensor) else _CPU
    ready = ready_rotation(convention, x.shape[-1], device)
    places = check_places(positions, x, axis, len(ready.steps))
    made = turns_of(places, ready.rotation, dtype) if is_readable(places) else computed_turns(places, ready, dtype)
    return turned(x, made.to(dtype, x.device), ready.rotation.layout, axis)

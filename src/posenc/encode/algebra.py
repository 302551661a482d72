"""What follows from phases without any table: shifts, rotation matrices, similarity, wavelengths."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..convention import Convention, resolve
from ..errors import ConventionError, DtypeError, InputError, refuse
from ..frequency import TURN
from ..layout import Columns, join, members
from ..phase import PLACES, phase_of
from ..trig.quarter import cos_sin
from ..trig.rounding import FORMATS, round_once
from .arguments import PositionsLike, as_positions, check_dtype, with_float64
from .prepared import prepared


def paired(convention: str | Convention, dim: int, what: str) -> tuple[Columns, Tensor]:
    """The columns of a convention and its steps, refused where a column has no partner."""
    columns, steps = prepared(convention, dim)
    if columns.dim % 2:
        refuse(
            f"dim={columns.dim}",
            f"an even width: {what} turns pairs, and the last sine of an odd width has no cosine",
            f"pass dim={columns.dim + 1}",
            error=ConventionError,
        )
    return columns, steps


def turn(offset: PositionsLike, steps: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine (..., pairs) of the turn between p and p + offset (...), float64, on the offset's device."""
    places = as_positions(offset, "offset")
    # A difference of positions knows nothing of where positions start.
    steps = torch.cat([steps[: 2 * PLACES], torch.zeros_like(steps[:1])])
    return cos_sin(phase_of(places.unsqueeze(-1), steps.to(places.device)))


def shift(encoding: Tensor, offset: PositionsLike, convention: str | Convention = "transformer") -> Tensor:
    """Rows of PE(p) (..., dim) -> rows of PE(p + offset) (..., dim), in O(dim), p unknown.

    Turned in float64 and rounded once to the dtype that came. `offset` is a number, or a tensor that broadcasts
    against the leading axes. Law: shift(encode(p), k) == encode(p + k) to rounding of the rows that were given.
    Odd widths are refused: the last sine has no cosine to turn with.

    >>> from posenc.encode import encode
    >>> torch.allclose(shift(encode(5, 8), -3), encode(2, 8))
    True
    """
    _check_rows(encoding)
    columns, steps = paired(convention, encoding.shape[-1], "shift")
    cosine, sine = turn(offset, steps)
    if isinstance(offset, Tensor) and offset.ndim and offset.device != encoding.device:
        refuse(f"offset on {offset.device} and encoding on {encoding.device}", "one device", "move one of them")
    rows = with_float64(encoding)
    cosine, sine = cosine.to(rows.device), sine.to(rows.device)
    try:
        torch.broadcast_shapes(cosine.shape[:-1], encoding.shape[:-1])
    except RuntimeError:
        refuse(
            f"offset of shape {tuple(cosine.shape[:-1])} for rows of shape {tuple(encoding.shape)}",
            "a shape that broadcasts against the leading axes",
            "pass one offset, or one for each row",
        )
    s, c = members(rows.double(), columns)
    turned = round_once(join(s * cosine + c * sine, c * cosine - s * sine, columns), encoding.dtype)
    return turned.to(encoding.device)


def _check_rows(encoding: Any) -> None:
    if not isinstance(encoding, Tensor) or encoding.dtype not in FORMATS:
        kind = encoding.dtype if isinstance(encoding, Tensor) else type(encoding).__name__
        refuse(f"encoding of {kind}", "a float tensor", "pass rows as encode gives them", error=DtypeError)
    if encoding.ndim == 0 or encoding.shape[-1] == 0:
        refuse(
            f"encoding of shape {tuple(encoding.shape)}",
            "(..., dim)",
            "pass at least one row",
            error=InputError,
        )


def shift_matrix(
    offset: int | float,
    dim: int,
    convention: str | Convention = "transformer",
    *,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """M_k (dim, dim) with PE(p + k) == M_k @ PE(p), whatever p.

    Laws: orthogonal, determinant 1, M_(j+k) == M_j @ M_k, all to rounding. Odd widths are refused.

    >>> shift_matrix(1, 2)
    tensor([[ 0.5403,  0.8415],
            [-0.8415,  0.5403]], dtype=torch.float64)
    """
    columns, steps = paired(convention, dim, "shift_matrix")
    dtype = check_dtype(dtype)
    cosine, sine = turn(offset, steps)
    if cosine.ndim != 1:
        refuse(f"offset of shape {tuple(cosine.shape[:-1])}", "one number", "call once for each offset")
    index = torch.arange(columns.dim, device="cpu")
    sines, cosines = members(index, columns)
    matrix = torch.zeros(columns.dim, columns.dim, dtype=torch.float64, device="cpu")
    cosine, sine = cosine.cpu(), sine.cpu()
    matrix[sines, sines] = cosine
    matrix[sines, cosines] = sine
    matrix[cosines, sines] = -sine
    matrix[cosines, cosines] = cosine
    return round_once(matrix, dtype)


def similarity(offset: PositionsLike, dim: int, convention: str | Convention = "transformer") -> Tensor:
    """PE(p) . PE(p + offset), whatever p: offsets (...) -> (...), float64.

    Law: the sum of cos(frequency * offset) over the pairs; dim / 2 at offset 0; the same for -offset. It does not
    fall monotonically: at dim 512 it first rises from offset 43 to 44. Odd widths are refused.

    >>> similarity([0, 1, -1], 4)
    tensor([2.0000, 1.5403, 1.5403], dtype=torch.float64)
    """
    _, steps = paired(convention, dim, "similarity")
    cosine, _ = turn(offset, steps)
    return cosine.sum(-1)


def wavelengths(dim: int, convention: str | Convention = "transformer") -> Tensor:
    """Positions per full turn, for each pair -> (pairs,), float64.

    For the paper from 2 pi to 2 pi * 10000^((dim - 2) / dim): the last one is below 10000 * 2 pi.

    >>> wavelengths(4)
    tensor([  6.2832, 628.3185], dtype=torch.float64)
    """
    steps = resolve(convention).ladder(dim).steps
    turns = [TURN / step if step else math.inf for step in map(abs, steps)]
    return torch.tensor(turns, dtype=torch.float64, device="cpu")

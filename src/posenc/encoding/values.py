"""Encodings of positions and of ranges of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..arguments.devices import check_device, default_device
from ..arguments.memory import made
from ..arguments.tensors import check_dense
from ..convention import Convention, Plan
from ..convention.options import AXES
from ..errors import ConventionError, DtypeError, refuse
from ..layout import join
from ..phase import phase_of
from ..tracing import is_plain
from ..trig.quarter import cos_sin
from ..trig.render import render
from ..trig.rounding import round_once
from ..trig.tabulate import tabulate
from .arguments import (
    INT64_MAX,
    INT64_MIN,
    PositionsLike,
    as_positions,
    check_dtype,
    check_int,
    is_readable,
)
from .general import TILE, computed_rows, general_rows
from .prepared import Prepared, prepared


def computed(positions: Tensor, ready: Prepared, dtype: torch.dtype) -> Tensor:
    """Positions (...) or (..., axes), int64 or float64 -> (..., dim), on their device, where the steps are too.

    Plain tensor operations without a look at any value: what compilers, exporters and accelerators run.
    Equal to `encode` except where float64 cannot decide a rounding. A position that is not finite gives NaN.
    """
    if not ready.plan.is_plain:
        return computed_rows(positions, ready, dtype)
    cosine, sine = cos_sin(phase_of(positions.unsqueeze(-1), ready.steps[0][0]))
    if positions.is_floating_point():
        sound = (positions.abs() < 2.0**63).unsqueeze(-1)
        sine, cosine = torch.where(sound, sine, torch.nan), torch.where(sound, cosine, torch.nan)
    return join(round_once(sine, dtype), round_once(cosine, dtype), ready.plan.blocks[0].columns)


def rows_of(positions: Tensor, plan: Plan, dtype: torch.dtype) -> Tensor:
    """Positions (...) or (..., axes), readable on the CPU, as `as_positions` gives them -> (..., dim)."""
    if not plan.is_plain:
        return general_rows(positions, plan, dtype)
    block = plan.blocks[0]
    out = torch.empty(positions.numel(), plan.dim, dtype=dtype, device="cpu")
    render(out, positions.detach().reshape(-1), block.ladder, block.columns)
    return out.view(*positions.shape, plan.dim)


def _check_axes(positions: Tensor, plan: Plan) -> tuple[int, ...]:
    """The leading shape of positions, whose last axis holds those of the convention where it has several."""
    if plan.axes == 1:
        return tuple(positions.shape)
    if positions.ndim == 0 or positions.shape[-1] != plan.axes:
        names = ", ".join(sorted(plan.convention.axes, key=AXES.index))
        refuse(
            f"positions of shape {tuple(positions.shape)}",
            f"(..., {plan.axes}) with ({names}) in the last axis, for convention {plan.convention.label}",
            "stack the coordinates with torch.stack(..., -1), or use posenc.grid for a whole map",
        )
    return tuple(positions.shape[:-1])


def single(plan: Plan) -> Plan:
    """The plan, refused where positions have several axes."""
    if plan.axes > 1:
        refuse(
            f"convention {plan.convention.label} with axes {plan.convention.axes}",
            "one axis, along which a table runs",
            "use posenc.grid for a map, or posenc.encode for coordinates",
            error=ConventionError,
        )
    return plan


def encode(
    positions: PositionsLike,
    dim: int,
    convention: str | Convention = "transformer",
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Positions (...) -> their encodings (..., dim).

    With a convention of several axes positions are (..., axes): (row, column) for images, (time, row, column) for
    video, (depth, row, column) for volumes, (x, y, z) for points, whatever the order of their columns.

    Any int64 position, negative ones too; floats are split into integer and fraction. On the CPU in eager mode
    float32, bfloat16 and float16 are correctly rounded and float64 is within 1e-15; elsewhere at most one unit
    in the last place away. So are values times a gain (float64 within 1e-15 of it) and those of added axes; a
    standardised table is within 2^-48 of its gain before the one rounding, where its deviation is at least 1/2.
    Law: encode(p) == table(n)[p], bit for bit, on one device.

    Args:
        positions: tensor, number or sequence; integers of any dtype but bool and uint64, or finite floats.
            float16 and bfloat16 are refused from magnitudes of 2048 and 256 on, on the CPU in eager mode: 2049 and
            257 have become those. A list with a float in it may hold no integer that float64 does not.
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`.
        dtype: of the result; None is torch's default.
        device: of the result; None is that of the positions.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Vaswani et al. 2017, section 3.5.

    >>> encode([0, 1], 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    dtype = check_dtype(dtype)
    places = as_positions(positions)
    ready = prepared(convention, dim, places.device)
    plan = ready.plan
    shape = _check_axes(places, plan)
    if device is None:
        device = positions.device if isinstance(positions, Tensor) else default_device()
    device = check_device(device)
    if places.is_meta and device.type != "meta":
        refuse("positions on meta, which have no values", f"positions for device={str(device)!r}", "pass real ones")

    def rows() -> Tensor:
        if device.type == "meta":
            return torch.empty((*shape, plan.dim), dtype=dtype, device="meta")
        if is_readable(places):
            return rows_of(places, plan, dtype).to(device)
        if not plan.is_exact and is_plain():
            return rows_of(places.cpu(), plan, dtype).to(device)
        return computed(places, ready, dtype).to(device)

    return _made(rows, (*shape, plan.dim), dtype, device)


def encoded(places: Tensor, plan: Plan, dtype: torch.dtype) -> Tensor:
    """What `encode` gives for one axis, of positions that `as_positions` has checked and that are readable."""
    return _made(lambda: rows_of(places, plan, dtype), (*places.shape, plan.dim), dtype, places.device)


def _made(make: Callable[[], Tensor], shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return made(make, shape, dtype, device, "encodings", "pass fewer positions at once")


def table(
    length: int,
    dim: int,
    convention: str | Convention = "transformer",
    *,
    start: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The encodings of start, start + 1, ... -> (length, dim).

    Law: table(n)[p] == encode(p), bit for bit. With `out` nothing is allocated for the result: it must have the
    shape, the dtype and the device that were asked for, and is never resized.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed or written.

    Source: Vaswani et al. 2017, section 3.5.

    >>> table(3, 2, start=-1)
    tensor([[-0.8415,  0.5403],
            [ 0.0000,  1.0000],
            [ 0.8415,  0.5403]])
    """
    ready = prepared(convention, dim)
    plan = single(ready.plan)
    length = check_int(length, "length", 0, INT64_MAX, "pass the number of rows, as in table(5000, 512)")
    start = check_int(start, "start", INT64_MIN, INT64_MAX, "pass the first position")
    if start + length - 1 > INT64_MAX:
        refuse(f"start={start} and length={length}", "positions within int64", "pass a smaller start or length")
    if out is not None:
        _check_out(out, (length, plan.dim), dtype, device)
        dtype, device = out.dtype, out.device
    dtype = check_dtype(dtype)
    device = check_device(device) if device is not None else default_device()
    shape = (length, plan.dim)

    def rows() -> Tensor:
        if device.type == "meta":
            return torch.empty(shape, dtype=dtype, device="meta") if out is None else out
        if out is not None and device.type == "cpu":
            return _filled(out, start, ready)
        rows = _filled(torch.empty(shape, dtype=dtype, device="cpu"), start, ready)
        return rows.to(device) if out is None else out.copy_(rows)

    with torch.no_grad():
        return made(rows, shape, dtype, device, "a table", "pass a smaller length, or encode the positions you need")


def _filled(rows: Tensor, start: int, ready: Prepared) -> Tensor:
    """`rows` (length, dim) on the CPU, with the encodings of start, start + 1, ... written into them."""
    length, plan = len(rows), ready.plan
    if not is_readable(rows):
        # A tracer or a fake mode: what it sees are plain operations, never a cache.
        places = torch.arange(length, dtype=torch.int64, device="cpu") + start
        rows.copy_(computed(places, ready, rows.dtype))
    elif length and plan.is_plain:
        tabulate(rows, start, plan.blocks[0].ladder, plan.blocks[0].columns)
    elif length:
        for begin in range(0, length, TILE):
            stop = min(begin + TILE, length)
            rows[begin:stop] = general_rows(torch.arange(begin, stop, device="cpu") + start, plan, rows.dtype)
    return rows


def _check_out(out: Any, shape: tuple[int, int], dtype: torch.dtype | None, device: torch.device | str | None) -> None:
    if not isinstance(out, Tensor):
        refuse(f"out of type {type(out).__name__}", "a tensor", "pass torch.empty(length, dim)", error=DtypeError)
    check_dense(out, "out")
    if tuple(out.shape) != shape:
        refuse(f"out of shape {tuple(out.shape)}", f"shape {shape}", "out is never resized: pass one that fits")
    if dtype is not None and out.dtype != dtype:
        refuse(f"out of {out.dtype} with dtype={dtype}", "one dtype", "leave dtype out", error=DtypeError)
    check_dtype(out.dtype)
    if device is not None and out.device != torch.empty(0, device=check_device(device)).device:
        refuse(f"out on {out.device} with device={str(device)!r}", "one device", "leave device out")
    if out.requires_grad or (out.is_inference() and not torch.is_inference_mode_enabled()):
        refuse(
            "out that autograd or inference mode protects",
            "a plain tensor",
            "pass a fresh torch.empty(length, dim)",
        )
    if out.numel() and _overlaps(out):
        refuse("out whose rows share memory", "one place for each value", "pass out.contiguous()")


def _overlaps(tensor: Tensor) -> bool:
    """Whether two values may share a place: some stride does not step over all that the smaller ones reach."""
    reach = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride < reach:
            return True
        reach += (size - 1) * stride
    return False

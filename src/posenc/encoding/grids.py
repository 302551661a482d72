"""Encodings of whole maps: images, video, volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..convention import Convention, Plan, as_index, resolve
from ..convention.options import AXES
from ..errors import ConventionError, DtypeError, refuse, shown
from ..recipes import released_coordinates
from .arguments import INT64_MAX, check_device, check_dtype, check_int, default_device, is_readable
from .general import TILE
from .prepared import Prepared, packed, prepared, unpacked
from .values import computed, rows_of

# Integers up to here have a float64 of their own.
_EXACT = 1 << 53


def grid(
    sizes: tuple[int, ...] | list[int],
    dim: int,
    convention: str | Convention = "mae-2d",
    *,
    trained_sizes: int | tuple[int, ...] | list[int] | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """The encoding of every cell of a map -> (*sizes, dim), rows first.

    Axes are those of the positions, in their order: (row, column), (time, row, column), (depth, row, column),
    whatever the order of the columns that hold them. `flatten(0, -2)` gives the tokens of an image row by row.

    Where cell i of an axis stands is said by `cells` of the convention; offset and scale come after:
    "corners" i, and i * trained / size where another size was trained; "centres" i + 1/2, and
    (i + 1/2) * trained / size; "first-to-last" i, and i * (trained - 1) / (size - 1), so that both ends keep their
    places; "fractions" (i + cell_origin) / (size + cell_epsilon); "ends" from -1 to 1.
    These numbers are exact, rounded once to float64 where they are no integers; as released they are the system's
    own float32.

    Law: grid(sizes)[i, j] == encode((x_i, x_j)), bit for bit; each axis is evaluated once, and no more memory taken
    than the result. With one axis, grid((n,)) == table(n). Inside a compiled graph the map is a constant of it.

    Args:
        sizes: one size for each axis, zero too.
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`.
        trained_sizes: the sizes that a model was trained with, one for all axes or one for each: the map then
            covers the range of coordinates that it knows, and no value is interpolated. None takes
            `Convention.trained_size`, or leaves coordinates alone.
        dtype: of the result; None is torch's default.
        device: of the result; None is torch's default.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Dosovitskiy et al. 2021 (ViT), He et al. 2022 (MAE), Carion et al. 2020 (DETR).

    A ViT that was trained with 14 x 14 patches and now reads 28 x 28: every other cell is one that it knows.

    >>> coarse, fine = grid((14, 14), 64), grid((28, 28), 64, trained_sizes=14)
    >>> fine.shape, torch.equal(fine[::2, ::2], coarse)
    (torch.Size([28, 28, 64]), True)

    A class token has no place on the map. Where a system gives it a row of zeros (`zero_rows`), join it:

    >>> torch.cat([torch.zeros(1, 64), coarse.flatten(0, 1)]).shape
    torch.Size([197, 64])

    Padded maps have a size of their own in every row and column, as DETR counts them: encode their fractions.

    >>> valid = torch.tensor([[True, True, True, False], [True, True, True, False]])
    >>> rows, columns = valid.cumsum(0).double(), valid.cumsum(1).double()
    >>> fractions = torch.stack([rows / (rows[-1:] + 1e-6), columns / (columns[:, -1:] + 1e-6)], -1)
    >>> from posenc import encode
    >>> padded = encode(fractions, 8, "detr-2d-normalized")
    >>> torch.equal(padded[:, :3], grid((2, 3), 8, "detr-2d-normalized"))
    True
    """
    if torch.compiler.is_compiling():
        # Sizes are constants of a graph, and so is the map; counted, since a size may come as a symbol.
        whole = [len([None for _ in range(size)]) for size in sizes] if isinstance(sizes, (tuple, list)) else sizes
        return _constant(packed(convention), dim, whole, trained_sizes, dtype, device).clone()
    return _map(convention, dim, sizes, trained_sizes, dtype, device)


def _map(convention: Any, dim: int, sizes: Any, trained_sizes: Any, dtype: Any, device: Any) -> Tensor:
    """What `grid` gives."""
    dtype = check_dtype(dtype)
    ready = prepared(resolve(convention, "map"), dim)
    plan = ready.plan
    shape = _sizes(sizes, plan)
    trained = _trained(trained_sizes, plan)
    out = _zeros((*shape, plan.dim), dtype, check_device(device) if device is not None else default_device())
    if out.is_meta or not out.numel():
        return out
    places = [_coordinates(plan, size, known) for size, known in zip(shape, trained, strict=True)]
    if any(block.axis is None for block in plan.blocks):
        _fill_all(out, places, ready)
    else:
        for axis, along in enumerate(places):
            _fill_axis(out, along, axis, ready)
    return out


def _constant(convention: Any, dim: int, sizes: Any, trained_sizes: Any, dtype: Any, device: Any) -> Tensor:
    return _map(unpacked(convention), dim, sizes, trained_sizes, dtype, device)


# As in `prepared`.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]  # noqa: SLF001


def _names(plan: Plan) -> str:
    names = sorted(plan.convention.axes, key=AXES.index)
    return f"({', '.join(names)})" if names else "its one axis"


def _sizes(sizes: Any, plan: Plan) -> tuple[int, ...]:
    """One size for each axis of the positions."""
    fix = f"pass sizes={(14,) * plan.axes}"
    if not isinstance(sizes, (tuple, list)):
        refuse(f"sizes of type {type(sizes).__name__}", f"a tuple of ints for {_names(plan)}", fix, error=DtypeError)
    if len(sizes) != plan.axes:
        fix += ", or a convention of as many axes: `posenc conventions` lists them"
        refuse(f"{len(sizes)} sizes", f"one for each of {_names(plan)} in convention {plan.convention.label}", fix)
    return tuple([check_int(size, f"sizes[{i}]", 0, INT64_MAX, fix) for i, size in enumerate(sizes)])


def _trained(given: Any, plan: Plan) -> tuple[int | None, ...]:
    """The size that each axis was trained with, where there is one."""
    convention = plan.convention
    if given is None:
        return (convention.trained_size,) * plan.axes
    if convention.cells in ("fractions", "ends"):
        refuse(
            f"trained_sizes={shown(given)} for convention {convention.label} with cells={convention.cells!r}",
            "a convention whose coordinates count cells: these are relative to the map already",
            "leave it out: maps of every size cover the same range",
            error=ConventionError,
        )
    if not plan.is_exact and convention.trained_size is None:
        refuse(
            f"trained_sizes={shown(given)} for convention {convention.label}",
            "the exact convention: the system itself has no arithmetic for maps of other sizes",
            "leave as_released out",
            error=ConventionError,
        )
    fix = f"pass trained_sizes=14 or trained_sizes={(14,) * plan.axes}"
    if as_index(given) is not None:
        return (check_int(given, "trained_sizes", 1, INT64_MAX, fix),) * plan.axes
    if not isinstance(given, (tuple, list)) or len(given) != plan.axes:
        refuse(f"trained_sizes={shown(given)}", f"an int, or a tuple of one for each of {_names(plan)}", fix)
    return tuple([check_int(size, f"trained_sizes[{i}]", 1, INT64_MAX, fix) for i, size in enumerate(given)])


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    try:
        return torch.zeros(shape, dtype=dtype, device=device)
    except (RuntimeError, MemoryError) as error:
        refuse(
            f"a map of shape {shape} ({str(error).splitlines()[0][:100]})",
            "one that the memory holds",
            "pass smaller sizes, or encode the coordinates that you need",
        )


def _coordinates(plan: Plan, size: int, trained: int | None) -> Tensor:
    """Where the cells of one axis stand (size,): int64, or float64, or float32 as released."""
    convention = plan.convention
    origin, epsilon = convention.cell_origin, convention.cell_epsilon
    if not plan.is_exact:
        return released_coordinates(convention.cells, size, trained, origin, epsilon)
    return _on_line(*_line(convention.cells, size, trained, origin, epsilon), size)


def _line(cells: str, size: int, trained: int | None, origin: float, epsilon: float) -> tuple[int, int, int]:
    """Integers (slope, start, divisor): cell i stands at (slope * i + start) / divisor, exactly."""
    if cells == "ends":
        # A single cell stands at the first end, as in torch.linspace.
        return (2, 1 - size, size - 1) if size > 1 else (0, -1, 1)
    if cells == "first-to-last" and trained:
        return (trained - 1, 0, size - 1) if size > 1 else (0, 0, 1)
    if cells == "fractions":
        (begin, below), (more, unit) = origin.as_integer_ratio(), epsilon.as_integer_ratio()
        return below * unit, begin * unit, below * (size * unit + more)
    ratio = (trained, size) if trained else (1, 1)
    return (2 * ratio[0], ratio[0], 2 * ratio[1]) if cells == "centres" else (ratio[0], 0, ratio[1])


def _on_line(slope: int, start: int, divisor: int, size: int) -> Tensor:
    """(slope * i + start) / divisor for i below size: int64 where all are integers, else float64, rounded once."""
    index = torch.arange(size, dtype=torch.int64, device="cpu")
    if slope % divisor == 0 and start % divisor == 0:
        return index * (slope // divisor) + start // divisor
    if max(abs(start), abs(slope * size + start), divisor) < _EXACT:
        return (index * slope + start).double() / divisor
    # Python divides integers of any size with one rounding.
    return torch.tensor([(slope * i + start) / divisor for i in range(size)], dtype=torch.float64, device="cpu")


def _rows(places: Tensor, ready: Prepared, dtype: torch.dtype, axis: int | None = None) -> Tensor:
    """Coordinates (n,) or (n, axes) on the CPU -> (n, dim), as `encode` makes them; only the columns of one axis."""
    if not is_readable(places):
        # Inside a tracer or a fake mode: plain operations, never a cache.
        return computed(places, ready, dtype)
    plan = ready.plan
    if axis is not None:
        plan = replace(plan, blocks=tuple(block for block in plan.blocks if block.axis == axis))
    return rows_of(places, plan, dtype)


def _columns_of(plan: Plan, axis: int) -> list[slice]:
    """The columns that depend on one axis of the positions, in as few slices as can be."""
    found = [
        part for block in plan.blocks if block.axis == axis for part in (block.columns.sines, block.columns.cosines)
    ]
    found += [slice(column, column + 1) for entry, column in plan.inputs if entry == axis]
    columns = sorted(column for part in found for column in range(plan.width)[part])
    if columns == list(range(columns[0], columns[-1] + 1)):
        return [slice(columns[0], columns[-1] + 1)]
    return found


def _fill_axis(out: Tensor, along: Tensor, axis: int, ready: Prepared) -> None:
    """Write the columns of one axis of out (*sizes, dim): its rows, once, to every place that shares them."""
    axes = ready.plan.axes
    parts = _columns_of(ready.plan, axis)
    for start in range(0, len(along), TILE):
        places = along[start : start + TILE]
        into = out.narrow(axis, start, len(places))
        # What the other axes hold does not reach these columns.
        cells = places.unsqueeze(-1).expand(-1, axes) if axes > 1 else places
        rows = _rows(cells, ready, out.dtype, axis).to(out.device)
        shape = [1] * (axes + 1)
        shape[axis] = len(rows)
        for part in parts:
            shape[-1] = -1
            into[..., part].copy_(rows[:, part].reshape(shape))


def _fill_all(out: Tensor, places: list[Tensor], ready: Prepared) -> None:
    """Write out (*sizes, dim) cell by cell, where the angles of the axes are added."""
    flat = out.view(-1, ready.plan.dim)
    for start in range(0, len(flat), TILE):
        index = torch.arange(start, min(start + TILE, len(flat)), device="cpu")
        cells = torch.unravel_index(index, out.shape[:-1])
        chosen = torch.stack([along[cell] for along, cell in zip(places, cells, strict=True)], -1)
        flat[start : start + TILE] = _rows(chosen, ready, out.dtype).to(out.device)

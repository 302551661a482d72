"""Encodings of whole maps: images, video, volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..arguments.devices import check_device, default_device
from ..arguments.memory import made
from ..arguments.numbers import as_index
from ..convention import Convention, Plan, resolve
from ..convention.options import AXES
from ..errors import ConventionError, DtypeError, refuse, shown
from .arguments import INT64_MAX, WITHOUT_FLOAT64, check_dtype, check_int, is_readable
from .cells import cells_of, coordinates, placed
from .general import TILE, assembled, input_of, pieces_of
from .prepared import Prepared, prepared
from .values import computed, rows_of


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
    than the result. With one axis, grid((n,)) == table(n). Inside a compiled graph sizes may stay open.

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
    dtype = check_dtype(dtype)
    ready = prepared(resolve(convention, "map"), dim)
    plan = ready.plan
    shape = _sizes(sizes, plan)
    trained = _trained(trained_sizes, plan)
    place = check_device(device) if device is not None else default_device()
    if torch.compiler.is_compiling():
        computes_on = torch.device("cpu") if place.type in WITHOUT_FLOAT64 else place
        return _in_graph(shape, trained, prepared(plan.convention, dim, computes_on), dtype, computes_on).to(place)
    whole, fix = (*shape, plan.dim), "pass smaller sizes, or encode the coordinates that you need"
    out = made(lambda: torch.zeros(whole, dtype=dtype, device=place), whole, dtype, place, "a map", fix)
    if out.is_meta or not out.numel():
        return out
    places = [coordinates(plan, size, known) for size, known in zip(shape, trained, strict=True)]
    if any(block.axis is None for block in plan.blocks):
        _fill_all(out, places, ready)
    else:
        for axis, along in enumerate(places):
            _fill_axis(out, along, axis, ready)
    return out


def _in_graph(
    shape: tuple[int, ...], trained: tuple[int | None, ...], ready: Prepared, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """The map in plain operations, for sizes that may be open: one graph serves maps of all sizes."""
    plan = ready.plan
    places = []
    for size, known in zip(shape, trained, strict=True):
        index = torch.arange(size, dtype=torch.int64, device=device)
        places.append(
            placed(index, torch.full((1,), size, dtype=torch.int64, device=device), cells_of(plan.convention, known))
        )
    if plan.axes == 1:
        return computed(places[0], ready, dtype)
    if any(block.axis is None for block in plan.blocks):
        return computed(torch.stack(torch.meshgrid(*places, indexing="ij"), -1), ready, dtype)
    # What the other axes hold does not reach the columns of an axis: each is computed once, and spread.
    cells = [along.unsqueeze(-1).expand(-1, plan.axes) for along in places]
    pieces: list[Tensor] = []
    for number, block in enumerate(plan.blocks):
        axis = block.axis or 0
        pieces += [_spread(piece, axis, shape) for piece in pieces_of(cells[axis], ready, number, dtype)]
    for axis, _ in plan.inputs:
        pieces.append(_spread(input_of(cells[axis], plan, axis, dtype), axis, shape))
    return assembled(pieces, ready)


def _spread(piece: Tensor, axis: int, shape: tuple[int, ...]) -> Tensor:
    """Values (n, columns) along one axis -> (*shape, columns)."""
    view = [1] * len(shape)
    view[axis] = shape[axis]
    return piece.reshape(*view, piece.shape[-1]).expand(*shape, piece.shape[-1])


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
    return tuple([_size(size, f"sizes[{i}]", fix) for i, size in enumerate(sizes)])


def _size(size: Any, name: str, fix: str) -> int:
    if torch.compiler.is_compiling() and isinstance(size, (int, torch.SymInt)) and not isinstance(size, bool):
        # Symbolic: what its value may be is for the guards to say.
        return size  # type: ignore[return-value]
    return check_int(size, name, 0, INT64_MAX, fix)


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
    axes, parts = ready.plan.axes, _columns_of(ready.plan, axis)
    for start in range(0, len(along), TILE):
        places = along[start : start + TILE]
        into = out.narrow(axis, start, len(places))
        # What the other axes hold does not reach these columns.
        cells = places.unsqueeze(-1).expand(-1, axes) if axes > 1 else places
        rows = _rows(cells, ready, out.dtype, axis).to(out.device)
        shape = [1] * (axes + 1)
        shape[axis], shape[-1] = len(rows), -1
        for part in parts:
            into[..., part].copy_(rows[:, part].reshape(shape))


def _fill_all(out: Tensor, places: list[Tensor], ready: Prepared) -> None:
    """Write out (*sizes, dim) cell by cell, where the angles of the axes are added."""
    flat = out.view(-1, ready.plan.dim)
    for start in range(0, len(flat), TILE):
        index = torch.arange(start, min(start + TILE, len(flat)), device="cpu")
        cells = torch.unravel_index(index, out.shape[:-1])
        chosen = torch.stack([along[cell] for along, cell in zip(places, cells, strict=True)], -1)
        flat[start : start + TILE] = _rows(chosen, ready, out.dtype).to(out.device)

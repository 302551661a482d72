"""Keys seen from queries: lengths, offsets and given positions -> relative positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from ..arguments.memory import made
from ..arguments.numbers import is_number
from ..encoding.arguments import INT64_MAX, INT64_MIN, as_positions, is_readable, uncast, with_float64
from ..errors import DtypeError, refuse, shown
from ..positions.arguments import check_count, check_length, numbers
from ..tracing import is_plain
from .arguments import is_held, sum_of

Future = Literal["open", "masked"]


class Places(NamedTuple):
    """Where queries and keys stand, by the same count.

    first: the position of the first query, where queries and keys (0, 1, ...) are consecutive and the host knows
    them; else None, and `queries` (..., Q) and `keys` (..., K) are tensors.
    """

    query_length: int
    key_length: int
    first: int | None
    queries: Tensor | None = None
    keys: Tensor | None = None


def places(
    query_length: Any,
    key_length: Any,
    offset: Any,
    query_positions: Any,
    key_positions: Any,
    device: torch.device,
) -> Places:
    """What a bias is called with, checked on the host before anything is computed."""
    queries = check_length(query_length, "query_length")
    keys = check_length(key_length, "key_length")
    if offset is None and query_positions is None and queries > keys:
        refuse(
            f"query_length={queries} and key_length={keys}",
            "at most as many queries as keys, since queries are taken for the last of them",
            "pass offset, the position of the first query counted from the first key",
        )
    if query_positions is None and key_positions is None and not isinstance(offset, Tensor):
        first = keys - queries if offset is None else _check_offset(offset)
        if not torch.compiler.is_compiling() and max(keys - 1 - first, first + queries - 1) > INT64_MAX:
            _refuse_distance()
        return Places(queries, keys, first)
    for_keys = _given(key_positions, "key_positions", keys, device)
    if query_positions is not None:
        for_queries = _given(query_positions, "query_positions", queries, device)
    elif offset is None:
        for_queries = for_keys.narrow(-1, keys - queries, queries)
    else:
        for_queries = _given(None, "query_positions", queries, device)
    if offset is not None:
        offset = _check_offset_tensor(offset, device) if isinstance(offset, Tensor) else _check_offset(offset)
        for_queries = sum_of(for_queries, offset)
    _check_together(for_queries, for_keys)
    return Places(queries, keys, None, for_queries, for_keys)


def fitting(make: Callable[[], Tensor], where: Places, heads: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A bias (..., heads, Q, K), or a refusal where the memory does not hold it."""
    fix = "pass smaller lengths, or the queries in pieces, each with its offset"
    return made(make, (heads, where.query_length, where.key_length), dtype, device, "a bias", fix)


def relative(where: Places, device: torch.device) -> Tensor:
    """Positions of keys minus positions of queries, (..., Q, K), int64 or float64."""
    if where.queries is not None and where.keys is not None:
        return where.keys.unsqueeze(-2) - where.queries.unsqueeze(-1)
    first = 0 if where.first is None else where.first
    return numbers(where.key_length, device) - numbers(where.query_length, device, first).unsqueeze(-1)


def ends(where: Places) -> tuple[int, int] | None:
    """The first relative position of consecutive queries and keys, and how many there are; None in a graph."""
    if where.first is None or not is_plain() or not (where.query_length and where.key_length):
        return None
    return 1 - where.first - where.query_length, where.query_length + where.key_length - 1


def line(where: Places, device: torch.device) -> Tensor | None:
    """The relative positions of consecutive queries and keys, each once, (Q + K - 1,); None in a graph.

    A bias of these spreads to (Q, K) in one pass over memory; compilers and exporters do better with `relative`.
    """
    found = ends(where)
    return None if found is None else numbers(found[1], device, found[0])


def spread(values: Tensor, where: Places) -> Tensor:
    """Values (..., Q + K - 1) along `line` -> (..., Q, K)."""
    return values.unfold(-1, where.key_length, 1).flip(-2)


def check_deviation(value: Any, name: str) -> float:
    """A standard deviation: a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        kind = type(value).__name__
        refuse(f"{name}={shown(value)} of type {kind}", "a float", f"write {name}=0.02", error=DtypeError)
    if not is_number(value) or value < 0:
        refuse(f"{name}={shown(value)}", "a finite number that is not negative", f"write {name}=0.02")
    return float(value)


def _check_offset(offset: Any) -> int:
    fix = "pass the position of the first query, counted from the first key"
    return check_count(offset, "offset", INT64_MIN, INT64_MAX, fix)


def _check_offset_tensor(offset: Tensor, device: torch.device) -> Tensor:
    if offset.is_floating_point() or offset.is_complex():
        fix = f"{uncast('offset')}, or pass float positions"
        refuse(f"offset of {offset.dtype}", "integers", fix, error=DtypeError)
    _check_device(offset, "offset", device)
    return as_positions(offset, "offset")


def _given(positions: Any, name: str, length: int, device: torch.device) -> Tensor:
    if positions is None:
        return with_float64(numbers(length, device))
    if not isinstance(positions, Tensor):
        refuse(
            f"{name} of type {type(positions).__name__}",
            "a tensor of integers or floats",
            "wrap them in torch.tensor",
            error=DtypeError,
        )
    if positions.ndim < 1 or positions.shape[-1] != length:
        refuse(
            f"{name} of shape {tuple(positions.shape)}",
            f"shape (..., {length})",
            "pass one position for each of them, and the lengths of the scores",
        )
    _check_device(positions, name, device)
    return as_positions(positions, name)


def _check_device(tensor: Tensor, name: str, device: torch.device) -> None:
    if tensor.device != device:
        refuse(f"{name} on {tensor.device}, the module on {device}", "one device", f"pass {name}.to({str(device)!r})")


def _check_together(queries: Tensor, keys: Tensor) -> None:
    try:
        torch.broadcast_shapes(queries.shape[:-1], keys.shape[:-1])
    except RuntimeError:
        refuse(
            f"queries of leading shape {tuple(queries.shape[:-1])} and keys of {tuple(keys.shape[:-1])}",
            "leading axes that agree or are 1",
            "pass positions (B, Q) and (B, K) with one B, or (Q,) and (K,)",
        )
    if queries.dtype != torch.int64 or keys.dtype != torch.int64:
        for whole in (queries, keys):
            if whole.dtype == torch.int64 and is_readable(whole) and not is_held(whole):
                refuse(
                    "integers beside floats that float64 does not hold",
                    "queries and keys of one kind, or magnitudes up to 2^53",
                    "count both from the first key",
                )
        return
    if is_readable(queries) and is_readable(keys) and queries.numel() and keys.numel():
        (low, high), (left, right) = ((int(bound) for bound in torch.aminmax(t)) for t in (queries, keys))
        if right - low > INT64_MAX or left - high < INT64_MIN:
            _refuse_distance()


def _refuse_distance() -> None:
    refuse(
        "queries and keys whose distance int64 does not hold",
        "relative positions within int64",
        "count both from the first key",
    )

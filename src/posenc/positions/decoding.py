"""Positions of the tokens of one decoding step, and of what a cache holds."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..encoding.arguments import INT64_MAX, INT64_MIN, is_readable
from ..errors import refuse
from .arguments import as_integers, check_choice, check_count, check_length, check_place, numbers

SlotOrder = Literal["ring", "oldest-first"]


def _after(offset: Tensor, length: int) -> Tensor:
    """Offsets (...) int64 -> (..., length): offset, offset + 1, ..."""
    if is_readable(offset) and offset.numel() and int(offset.max()) > INT64_MAX - max(length - 1, 0):
        refuse(
            f"offset up to {int(offset.max())} with length={length}",
            "positions within int64",
            "pass smaller numbers",
        )
    return offset.unsqueeze(-1) + numbers(length, offset.device)


def decoding_positions(length: int, offset: int | Tensor = 0, *, device: torch.device | str | None = None) -> Tensor:
    """`length` new tokens after `offset` cached ones -> int64 positions (length,), or (..., length) for offsets (...).

    Law: the position of a token is the number of tokens before it. After a step the offset grows by the tokens
    that this step has added, for each row by its own: where a row of a speculative step keeps 2 of 4 drafts, by 2.
    The nodes of a tree of drafts stand at offset.unsqueeze(-1) + depth.

    Args:
        length: tokens of this step.
        offset: an int, or an integer tensor: one for all rows (), or one for each. It stays on its device, and is
            not looked at there: in a compiled graph it may change from call to call.
        device: of the result for an int; None is torch's default.

    Raises:
        PosencError: for lengths below 0, offsets that are no integers, positions beyond int64.

    >>> decoding_positions(2, 6)
    tensor([6, 7])
    >>> decoding_positions(2, torch.tensor([3, 5]))
    tensor([[3, 4],
            [5, 6]])
    """
    length = check_length(length)
    if isinstance(offset, Tensor):
        return _after(as_integers(offset, "offset"), length)
    fix = "pass the number of tokens before, or a tensor with one for each row"
    return numbers(length, check_place(device), check_count(offset, "offset", INT64_MIN, INT64_MAX, fix))


def last_positions(length: int, total: int | Tensor, *, device: torch.device | str | None = None) -> Tensor:
    """Queries that are the last `length` of `total` keys -> int64 positions (length,), or (..., length).

    Law: last_positions(n, total) == decoding_positions(n, total - n): `total` counts the new tokens too, as the keys
    do after they have been joined to the cache.

    Raises:
        PosencError: as `decoding_positions`, and for fewer keys than queries.

    >>> last_positions(2, 5)
    tensor([3, 4])
    """
    length = check_length(length)
    if isinstance(total, Tensor):
        total = as_integers(total, "total")
        if is_readable(total) and total.numel() and int(total.min()) < length:
            _too_few(int(total.min()), length)
        return decoding_positions(length, total - length)
    total = check_length(total, "total")
    if total < length:
        _too_few(total, length)
    return decoding_positions(length, total - length, device=device)


def _too_few(total: int, length: int) -> None:
    refuse(
        f"total={total} with length={length}",
        "a total that counts the new tokens too",
        "pass the number of keys after the new ones have been joined",
    )


def rolling_positions(
    seen: int | Tensor,
    window: int,
    *,
    order: SlotOrder = "ring",
    device: torch.device | str | None = None,
) -> Tensor:
    """The positions that a cache of `window` slots holds after `seen` tokens -> int64 (window,), or (..., window).

    Law: they are the last `window` of 0 ... seen - 1. A slot that is still empty has a negative number.
    Keys keep the turn of the position they came with; systems that renumber by place in the cache use
    torch.arange(window) on keys that were cached without one.

    Args:
        seen: tokens so far, an int or an integer tensor (...), one for each row.
        window: slots of the cache.
        order: "ring": token p lies in slot p % window, and the oldest is overwritten; "oldest-first": all move up.
        device: of the result for an int; None is torch's default.

    Raises:
        PosencError: for numbers below 0, a window of 0, another order.

    >>> rolling_positions(6, 4), rolling_positions(6, 4, order="oldest-first")
    (tensor([4, 5, 2, 3]), tensor([2, 3, 4, 5]))
    >>> rolling_positions(3, 4)
    tensor([ 0,  1,  2, -1])
    """
    check_choice(order, "order", get_args(SlotOrder))
    window = check_count(window, "window", 1, INT64_MAX, "pass the number of slots")
    newest = _newest(seen, device)
    slots = numbers(window, newest.device)
    if order == "oldest-first":
        return newest - (window - 1) + slots
    # The remainder of a negative number is that of Python.
    held: Tensor = newest - torch.remainder(newest - slots, window)
    return held


def _newest(seen: Any, device: torch.device | str | None) -> Tensor:
    """The position of the newest token (..., 1); -1 before the first."""
    if isinstance(seen, Tensor):
        counts = as_integers(seen, "seen")
        if is_readable(counts) and counts.numel() and int(counts.min()) < 0:
            refuse(f"seen down to {int(counts.min())}", "numbers of tokens, of at least 0", "pass how many came so far")
        return (counts - 1).unsqueeze(-1)
    seen = check_count(seen, "seen", 0, INT64_MAX, "pass how many tokens came so far")
    return numbers(1, check_place(device), seen - 1)

"""Positions of documents that are packed one after the other, from their lengths."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..arguments.devices import check_device
from ..encoding.arguments import is_readable
from ..errors import refuse
from .arguments import as_integers, check_choice, check_length, check_place, numbers

Documents = Literal["restart", "continue"]


def positions_from_lengths(
    lengths: Any = None,
    *,
    cu_seqlens: Any = None,
    total: int | None = None,
    documents: Documents = "restart",
    device: torch.device | str | None = None,
) -> Tensor:
    """Lengths of packed documents (..., n) -> int64 positions (..., total) of all their tokens.

    Law: encode(positions) is the encodings of the documents, each on its own from position 0, joined. A document of
    length 0 has no tokens, and disturbs nobody. Pass one of the two forms.

    Args:
        lengths: of the documents, [2, 3]; a tensor or a list. With leading axes every row has a packing of its own.
        cu_seqlens: where they begin and end, [0, 2, 5], as flash-attention takes them: it starts with 0.
        total: all tokens; checked. On an accelerator and inside a compiled graph no length is looked at, so there a
            tensor needs it, as in total=x.shape[1]. Tokens beyond the last document there count as one more.
        documents: "restart" numbers every document from 0; "continue" numbers on, as if all were one.
        device: of the result for a list; None is torch's default. A tensor stays where it is.

    Raises:
        PosencError: for neither form or both, lengths below 0, ends out of order, sums other than `total`.

    Source: `cu_seqlens` of Dao 2023 (FlashAttention-2); packing that restarts, of Krell et al. 2021.

    >>> positions_from_lengths([2, 3])
    tensor([0, 1, 0, 1, 2])
    >>> positions_from_lengths(cu_seqlens=torch.tensor([0, 2, 2, 5]), total=5)
    tensor([0, 1, 0, 1, 2])
    >>> positions_from_lengths([2, 3], documents="continue")
    tensor([0, 1, 2, 3, 4])
    """
    check_choice(documents, "documents", get_args(Documents))
    starts, total = boundaries(lengths, cu_seqlens, total, device)
    tokens = numbers(total, starts.device)
    if documents == "continue":
        return tokens.expand(*starts.shape[:-1], total).clone()
    return tokens - starts.gather(-1, document_of(starts, total))


def boundaries(
    lengths: Any, cu_seqlens: Any, total: int | None, device: torch.device | str | None
) -> tuple[Tensor, int]:
    """Where documents begin and the last one ends (..., n + 1) int64, and how many tokens there are."""
    if (lengths is None) == (cu_seqlens is None):
        refuse(
            "no lengths" if lengths is None else "both lengths and cu_seqlens",
            "one of them",
            "pass lengths=[2, 3], or cu_seqlens=[0, 2, 5]",
        )
    given, name = (lengths, "lengths") if cu_seqlens is None else (cu_seqlens, "cu_seqlens")
    ends = as_integers(given, name)
    if ends.ndim == 0 or (cu_seqlens is not None and ends.shape[-1] == 0):
        wanted = "(..., n)" if cu_seqlens is None else "(..., n + 1)"
        refuse(f"{name} of shape {tuple(ends.shape)}", wanted, "pass one length for each document, as in [2, 3]")
    if is_readable(ends) and cu_seqlens is None and ends.numel() and int(ends.min()) < 0:
        refuse(f"a length of {int(ends.min())}", "lengths of at least 0", "pass the number of tokens of each document")
    if cu_seqlens is None:
        ends = torch.nn.functional.pad(ends.cumsum(-1), (1, 0))
    if is_readable(ends):
        _check_ends(ends, name)
    total = _total(given, ends, name, total)
    if device is None:
        return (ends if isinstance(given, Tensor) else ends.to(check_place(None))), total
    place = check_device(device)
    if isinstance(given, Tensor) and (place.type != ends.device.type or place.index not in (None, ends.device.index)):
        refuse(f"{name} on {given.device} with device={place}", "one device", "leave device out")
    return ends.to(place), total


def _check_ends(ends: Tensor, name: str) -> None:
    if bool((ends[..., 0] != 0).any()):
        refuse(f"{name} that start with {ends[..., 0].reshape(-1).tolist()[:8]}", "0 first", "prepend 0")
    # A sum that wraps goes down, too.
    if bool((ends[..., 1:] < ends[..., :-1]).any()):
        if name == "lengths":
            # None is negative, so a sum went round.
            fix = "pass the number of tokens of each document"
            refuse("lengths whose sum int64 does not hold", "as many as the memory holds", fix)
        fix = "pass ends in their order, or plain lengths as lengths="
        refuse(f"{name} that go down", "ends that never go down", fix)


def _total(given: Any, ends: Tensor, name: str, total: int | None) -> int:
    """All tokens: what the caller says, which must be true where it can be seen."""
    if is_readable(ends):
        # Without rows there is nothing to add up.
        sums = ends[..., -1].reshape(-1).tolist()
        known = (sums or [0])[0] if total is None else check_length(total, "total")
        if any(each != known for each in sums):
            wrong = next(each for each in sums if each != known)
            said = f"total={known}" if total is not None else f"{known} in the first row"
            fix = "pass what was packed, with padding as a document of its own"
            refuse(f"{name} that add up to {wrong}, with {said}", "the same number of tokens", fix)
        return int(known)
    if total is None and isinstance(given, (list, tuple)) and all(isinstance(each, int) for each in given):
        # A list is a constant of the graph.
        return sum(given) if name == "lengths" else given[-1]
    if total is None:
        refuse(
            f"{name} on {ends.device} without total, where no value may be looked at",
            "the number of all tokens",
            "pass total=x.shape[1]",
        )
    return check_length(total, "total")


def document_of(starts: Tensor, total: int) -> Tensor:
    """The number of the document of each token (..., total); n for tokens beyond the last document.

    A count of starts and a running sum: exact integers, on every device and in every compiler and exporter.
    """
    into = starts.clamp(min=0, max=total)
    counts = starts.new_zeros(*starts.shape[:-1], total + 1).scatter_add(-1, into, torch.ones_like(into))
    return counts.cumsum(-1)[..., :total] - 1


def cumulative_lengths(positions: Tensor) -> Tensor:
    """Positions (S,) of a packed sequence, or of a piece of one -> int32 ends (n + 1,), as flash-attention takes them.

    A document ends where positions do not go on by one. The first end is 0 whatever the first position is: a piece
    may begin inside a document. Law: cumulative_lengths(positions_from_lengths(lengths)) gives `lengths` back, less
    the empty ones. How many there are hangs on the values, which are looked at on any device.

    Raises:
        PosencError: for positions of other shapes (those of several axes are no packing), or that are no integers.

    >>> cumulative_lengths(torch.tensor([1024, 1025, 1026, 1027, 0, 1]))
    tensor([0, 4, 6], dtype=torch.int32)
    """
    places = as_integers(positions, "positions")
    if places.ndim != 1:
        fix = "pass one row at a time; coordinates of several axes are no packing"
        refuse(f"positions of shape {tuple(places.shape)}", "shape (S,)", fix)
    length = places.shape[0]
    inner = torch.nonzero(places[1:] != places[:-1] + 1).squeeze(-1) + 1
    ends = [inner.new_zeros(1), inner, inner.new_full((1,), length)] if length else [inner.new_zeros(1)]
    return torch.cat(ends).to(torch.int32)

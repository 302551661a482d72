"""Positions of the part of a sequence that one rank holds."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..encoding.arguments import INT64_MAX, check_int, is_readable
from ..errors import refuse
from .arguments import check_choice, check_length, check_place, numbers
from .packed import Documents, boundaries, document_of, positions_from_lengths

Kind = Literal["contiguous", "zigzag", "striped"]
Cut = Literal["whole", "each"]


def shard_positions(
    length: int,
    rank: int,
    world_size: int,
    *,
    kind: Kind = "contiguous",
    lengths: Any = None,
    cu_seqlens: Any = None,
    cut: Cut = "whole",
    documents: Documents = "restart",
    device: torch.device | str | None = None,
) -> Tensor:
    """The positions of the tokens that `rank` of `world_size` holds of a sequence -> int64 (local length,).

    Law: the rows of all ranks, put where `shard_indices` says, are those of the whole sequence, bit for bit.
    Without documents position and index are one. Padded batches are sharded like x:
    positions_from_mask(mask)[:, shard_indices(...)], counted before they are cut. An exported program whose length is
    open takes multiples, as in 2 * world_size * Dim("s").

    Args:
        length: of the whole sequence.
        rank, world_size: who holds it, of how many.
        kind: "contiguous" pieces of ceil(length / world_size), as DTensor and torch.chunk cut: the last ones may be
            shorter or empty. "zigzag": piece r and piece 2 world_size - 1 - r of 2 world_size equal ones, so that
            causal attention has the same work everywhere, as context parallel of torch and Megatron cut. "striped":
            every world_size-th token, beginning with `rank`.
        lengths, cu_seqlens: of packed documents, as in `positions_from_lengths`; they add up to `length`.
        cut: "whole" cuts the packed sequence as one. "each" cuts every document by itself, so that each rank holds
            a part of each, as torch's per-document balancer and Transformer Engine do; every length is then a
            multiple of world_size, or of 2 world_size for "zigzag".
        documents: "restart" numbers every document from 0, "continue" numbers on through all.
        device: of the result where no tensor decides; None is torch's default.

    Raises:
        PosencError: for ranks out of range, lengths that cannot be cut so or do not add up.

    Source: Brandon et al. 2023 (Striped Attention); Llama 3 (Grattafiori et al. 2024, section 3.3.2) for zigzag.

    >>> [shard_positions(8, rank, 2, kind="zigzag").tolist() for rank in (0, 1)]
    [[0, 1, 6, 7], [2, 3, 4, 5]]
    >>> [shard_positions(8, rank, 2, kind="striped").tolist() for rank in (0, 1)]
    [[0, 2, 4, 6], [1, 3, 5, 7]]
    >>> shard_positions(8, 1, 2, lengths=[6, 2]), shard_positions(8, 1, 2, lengths=[6, 2], cut="each")
    (tensor([4, 5, 0, 1]), tensor([3, 4, 5, 1]))
    """
    check_choice(documents, "documents", get_args(Documents))
    indices = shard_indices(
        length, rank, world_size, kind=kind, lengths=lengths, cu_seqlens=cu_seqlens, cut=cut, device=device
    )
    if documents == "continue" or (lengths is None and cu_seqlens is None):
        return indices
    positions = positions_from_lengths(lengths, cu_seqlens=cu_seqlens, total=length, device=device)
    return positions.gather(-1, indices.expand(*positions.shape[:-1], indices.shape[-1]))


def shard_indices(
    length: int,
    rank: int,
    world_size: int,
    *,
    kind: Kind = "contiguous",
    lengths: Any = None,
    cu_seqlens: Any = None,
    cut: Cut = "whole",
    device: torch.device | str | None = None,
) -> Tensor:
    """Which tokens `rank` holds -> int64 (local length,), to cut x with, as in x[:, indices].

    Law: the indices of all ranks are 0 ... length - 1, each once. To join, write the pieces back:
    whole[:, indices] = piece. Arguments and errors as in `shard_positions`.

    >>> shard_indices(16, 0, 4, kind="zigzag")
    tensor([ 0,  1, 14, 15])
    """
    check_choice(kind, "kind", get_args(Kind))
    check_choice(cut, "cut", get_args(Cut))
    length = check_length(length)
    world_size = check_int(world_size, "world_size", 1, INT64_MAX, "pass the number of ranks")
    rank = check_int(rank, "rank", 0, world_size - 1, "ranks count from 0, below world_size")
    if lengths is None and cu_seqlens is None:
        if cut == "each":
            fix = "pass lengths or cu_seqlens, or leave cut out"
            refuse('cut="each" without documents', "the lengths of the documents to cut", fix)
        return _cut_whole(length, rank, world_size, kind, check_place(device))
    starts, length = boundaries(lengths, cu_seqlens, length, device)
    if cut == "each":
        return _cut_each(starts, length, rank, world_size, kind)
    return _cut_whole(length, rank, world_size, kind, starts.device)


def _cut_whole(length: int, rank: int, ranks: int, kind: Kind, device: torch.device) -> Tensor:
    if kind == "striped":
        return numbers((length + ranks - 1 - rank) // ranks, device) * ranks + rank
    if kind == "zigzag":
        if length % (2 * ranks):
            _indivisible(f"length={length}", 2 * ranks, kind)
        chunk = length // (2 * ranks)
        return torch.cat([numbers(chunk, device) + first * chunk for first in (rank, 2 * ranks - 1 - rank)])
    chunk = (length + ranks - 1) // ranks
    # Not min: a graph may leave the length open.
    first = torch.sym_min(rank * chunk, length)
    return numbers(torch.sym_min(chunk, length - first), device, first)


def _cut_each(starts: Tensor, length: int, rank: int, ranks: int, kind: Kind) -> Tensor:
    """Indices of the rank's part of every document, document after document."""
    parts = 2 * ranks if kind == "zigzag" else ranks
    sizes = starts.diff(dim=-1)
    if is_readable(sizes) and bool((sizes % parts).any()):
        _indivisible(f"a document of length {int(sizes[sizes % parts != 0][0])}", parts, kind)
    local_starts = starts // ranks
    document = document_of(local_starts, length // ranks)
    within = numbers(length // ranks, starts.device) - local_starts.gather(-1, document)
    # The place after the last document has no tokens.
    held = torch.nn.functional.pad(sizes // ranks, (0, 1)).gather(-1, document)
    if kind == "striped":
        within = within * ranks + rank
    elif kind == "contiguous":
        within = within + held * rank
    else:
        chunk = held // 2
        mirrored = chunk * (2 * ranks - 2 - rank)
        within = within + torch.where(within < chunk, chunk * rank, mirrored)
    return starts.gather(-1, document) + within


def _indivisible(said: str, parts: int, kind: Kind) -> None:
    refuse(f'{said} with kind="{kind}"', f"a multiple of {parts}, so that all parts are equal", "pad it")

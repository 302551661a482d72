"""Shards of a sequence: who holds what, that nothing is lost, and that torch cuts alike."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.distributed.tensor import Shard

from posenc import PositionalEncoding, encode, positions_from_lengths, positions_from_mask, shard_positions
from posenc.positions import shard_indices

KINDS = ["contiguous", "zigzag", "striped"]
WORLDS = [1, 2, 3, 4]


def parts_of(kind: str, ranks: int) -> int:
    """What a length is a multiple of."""
    return 2 * ranks if kind == "zigzag" else ranks


def test_who_holds_what():
    assert [shard_positions(8, rank, 2).tolist() for rank in (0, 1)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    zigzag = [shard_positions(16, rank, 4, kind="zigzag").tolist() for rank in range(4)]
    assert zigzag == [[0, 1, 14, 15], [2, 3, 12, 13], [4, 5, 10, 11], [6, 7, 8, 9]]
    assert [shard_positions(7, rank, 3, kind="striped").tolist() for rank in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]


@pytest.mark.parametrize("ranks", WORLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_token_is_held_once(kind, ranks):
    for length in range(25):
        if kind == "zigzag" and length % (2 * ranks):
            continue
        held = [shard_indices(length, rank, ranks, kind=kind) for rank in range(ranks)]
        assert torch.cat(held).sort().values.tolist() == list(range(length))
        assert all(torch.equal(shard_positions(length, r, ranks, kind=kind), held[r]) for r in range(ranks))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_contiguous_is_how_torch_cuts(ranks):
    for length in range(30):
        pieces = torch.arange(length).chunk(ranks)
        for rank in range(ranks):
            made = shard_positions(length, rank, ranks)
            size, first = Shard(0).local_shard_size_and_offset(length, ranks, rank)
            assert len(made) == size
            assert made.tolist() == list(range(first, first + size))
            if length:
                assert made.tolist() == (pieces[rank].tolist() if rank < len(pieces) else [])


def balancers():
    """How torch's context parallel orders a sequence; private there, so compared where it is found."""
    found = pytest.importorskip(
        "torch.distributed.tensor.experimental._context_parallel._load_balancer",
        reason="this torch has its load balancers elsewhere",
    )
    return found._HeadTailLoadBalancer, found._PerDocumentHeadTailLoadBalancer


@pytest.mark.parametrize("ranks", WORLDS)
def test_zigzag_is_the_order_of_context_parallel(ranks):
    head_tail, per_document = balancers()
    length = 12 * ranks
    ours = torch.cat([shard_indices(length, rank, ranks, kind="zigzag") for rank in range(ranks)])
    assert torch.equal(ours, head_tail(length, ranks, "cpu")._generate_indices().flatten().long())

    # torch's balancer of documents stacks the ranks inside each document; ours gives each rank its parts of all.
    lengths = [4 * ranks, 2 * ranks, 6 * ranks]
    theirs = per_document([lengths], ranks, "cpu")._generate_indices()[0].split(lengths)
    for rank in range(ranks):
        parts = torch.cat([document.chunk(ranks)[rank] for document in theirs])
        assert torch.equal(shard_indices(length, rank, ranks, kind="zigzag", lengths=lengths, cut="each"), parts)


PACKINGS = [[1, 2, 3], [3, 0, 1], [0, 2], [1, 0, 0, 5, 0]]


@pytest.mark.parametrize("ranks", WORLDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", PACKINGS, ids=str)
def test_both_cuts_of_documents(units, kind, ranks):
    lengths = [unit * parts_of(kind, ranks) for unit in units]
    total = sum(lengths)
    ends = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    restarted = positions_from_lengths(lengths)
    for cut, documents in itertools.product(("whole", "each"), ("restart", "continue")):
        held = []
        for rank in range(ranks):
            options = {"kind": kind, "cut": cut}
            indices = shard_indices(total, rank, ranks, lengths=lengths, **options)
            positions = shard_positions(total, rank, ranks, cu_seqlens=ends, documents=documents, **options)
            assert torch.equal(positions, restarted[indices] if documents == "restart" else indices)
            if cut == "whole":
                assert torch.equal(indices, shard_indices(total, rank, ranks, kind=kind))
            else:
                # By each document on its own.
                apart = [
                    shard_indices(length, rank, ranks, kind=kind) + start
                    for length, start in zip(lengths, ends, strict=False)
                ]
                assert torch.equal(indices, torch.cat(apart))
            held.append(indices)
        assert torch.cat(held).sort().values.tolist() == list(range(total))


def test_every_row_may_have_documents_of_its_own():
    lengths = torch.tensor([[4, 8], [8, 4]])
    for kind, cut in itertools.product(KINDS, ("whole", "each")):
        made = shard_positions(12, 1, 2, kind=kind, lengths=lengths, cut=cut)
        for row, own in zip(made, lengths, strict=True):
            assert torch.equal(row, shard_positions(12, 1, 2, kind=kind, lengths=own, cut=cut))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("documents", [None, [16, 8, 0, 8]], ids=["one", "packed"])
def test_shards_joined_are_the_whole(kind, ranks, documents):
    layer, x = PositionalEncoding(8, 0.0, max_len=20), torch.randn(2, 32, 8)
    lengths = {} if documents is None else {"lengths": documents}
    positions = torch.arange(32) if documents is None else positions_from_lengths(documents)
    whole, rows = layer(x, positions=positions), encode(positions, 8, "fairseq", dtype=torch.bfloat16)
    for cut in ("whole", "each") if documents else ("whole",):
        joined, joined_rows = torch.empty_like(x), torch.empty_like(rows)
        for rank in range(ranks):
            at = {"kind": kind, "cut": cut, **lengths}
            held, local = shard_indices(32, rank, ranks, **at), shard_positions(32, rank, ranks, **at)
            joined[:, held] = layer(x[:, held], positions=local)
            joined_rows[held] = encode(local, 8, "fairseq", dtype=torch.bfloat16)
        assert torch.equal(joined, whole)
        assert torch.equal(joined_rows, rows)


def test_padded_rows_are_counted_before_they_are_cut():
    layer, x = PositionalEncoding(8, 0.0), torch.randn(2, 8, 8)
    positions = positions_from_mask(torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0]]))
    joined = torch.empty_like(x)
    for rank in range(2):
        held = shard_indices(8, rank, 2, kind="zigzag")
        joined[:, held] = layer(x[:, held], positions=positions[:, held])

    assert torch.equal(joined, layer(x, positions=positions))

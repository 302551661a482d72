"""Where positions come from in a sequence: masks, lengths and decoding; and that pieces equal the whole."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc import PositionalEncoding, SequenceEmbedding, encode, positions_from_lengths, positions_from_mask, table
from posenc.positions import (
    cumulative_lengths,
    decoding_positions,
    last_positions,
    next_positions,
    rolling_positions,
)

LEFT, RIGHT, INSIDE, NONE = [0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]
COUNTED = {"left": (LEFT, [9, 9, 0, 1, 2]), "right": (RIGHT, [0, 1, 2, 9, 9]), "inside": (INSIDE, [0, 1, 9, 2, 9])}
COUNTED["none"] = (NONE, [0, 1, 2, 3, 4])
MASKS = [torch.bool, torch.int8, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64]


def test_the_floor_is_an_attribute_of_the_package():
    code = "import posenc; print(posenc.positions.next_positions.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "posenc.positions.masks"


@pytest.mark.parametrize(("mask", "wanted"), COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("dtype", MASKS, ids=str)
def test_real_tokens_are_counted_in_every_dtype(mask, wanted, dtype):
    given = torch.tensor(mask, dtype=dtype)
    before = given.clone()

    for made in (
        positions_from_mask(given, filler=9),
        positions_from_mask(key_padding_mask=(given == 0).to(dtype), filler=9),
    ):
        assert made.dtype == torch.int64
        assert made.tolist() == wanted
    assert next_positions(given).item() == next_positions(key_padding_mask=given == 0).item() == sum(mask)
    assert torch.equal(given, before)


def test_padding_stands_at_0_unless_it_is_told_otherwise():
    assert positions_from_mask(torch.tensor(LEFT)).tolist() == [0, 0, 0, 1, 2]
    assert positions_from_mask(torch.tensor(RIGHT)).min() == 0
    # fairseq's own numbers, with padding_idx 1: real tokens from 2 on, padding at 1.
    assert (positions_from_mask(torch.tensor(RIGHT), filler=-1) + 2).tolist() == [2, 3, 4, 1, 1]
    # Position ids of Hugging Face, as generate makes them.
    hf = (torch.tensor(LEFT).cumsum(-1) - 1).masked_fill(torch.tensor(LEFT) == 0, 1)
    assert torch.equal(positions_from_mask(torch.tensor(LEFT), filler=1), hf)


def test_numbers_of_documents_are_real_tokens():
    assert positions_from_mask(torch.tensor([1, 1, 2, 2, 0])).tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
def test_rows_are_counted_apart(leading):
    mask = torch.rand(*leading, 7) < 0.6
    mask[..., 3] = True
    made, following = positions_from_mask(mask), next_positions(mask)

    assert made.shape == mask.shape
    assert following.shape == leading
    for row, positions, after in zip(mask.reshape(-1, 7), made.reshape(-1, 7), following.reshape(-1), strict=True):
        assert positions[row].tolist() == list(range(int(row.sum())))
        assert positions[~row].tolist() == [0] * int((~row).sum())
        assert after == row.sum()


def test_a_mask_that_is_a_view_is_read_as_it_is():
    mask = torch.tensor([LEFT, RIGHT, NONE])

    assert torch.equal(positions_from_mask(mask.T.contiguous().T), positions_from_mask(mask))
    assert torch.equal(positions_from_mask(mask[:, ::2]), positions_from_mask(mask[:, ::2].contiguous()))
    assert positions_from_mask(torch.ones(2, 0)).shape == (2, 0)
    assert next_positions(torch.ones(2, 0)).tolist() == [0, 0]


PACKINGS = [[2, 3], [5], [2, 0, 3], [0, 0], [], [0, 4, 1, 0, 0, 7, 0], [1] * 9]


@pytest.mark.parametrize("lengths", PACKINGS, ids=str)
def test_documents_are_numbered_each_from_0(lengths):
    ends = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    wanted = [position for length in lengths for position in range(length)]
    total = len(wanted)
    forms = [{"lengths": lengths}, {"cu_seqlens": ends}]
    forms += [{name: kind(given)} for form in forms for name, given in form.items() for kind in (as_int32, as_array)]

    for form in forms:
        assert positions_from_lengths(**form).tolist() == wanted
        assert positions_from_lengths(**form, total=total, documents="continue").tolist() == list(range(total))
    made = positions_from_lengths(lengths)
    assert cumulative_lengths(made).tolist() == [0, *np.cumsum([n for n in lengths if n], dtype=int).tolist()]
    assert cumulative_lengths(made).dtype == torch.int32


def as_int32(values):
    return torch.tensor(values, dtype=torch.int32)


def as_array(values):
    return np.array(values, dtype=np.int64)


def test_every_row_may_have_a_packing_of_its_own():
    lengths = torch.tensor([[2, 3, 0], [1, 1, 3]])

    made = positions_from_lengths(lengths, total=5)

    assert made.tolist() == [[0, 1, 0, 1, 2], [0, 0, 0, 1, 2]]
    assert positions_from_lengths(lengths.view(1, 2, 3)).tolist() == [made.tolist()]
    assert positions_from_lengths(cu_seqlens=[[0, 2, 5], [0, 1, 5]]).tolist() == [[0, 1, 0, 1, 2], [0, 0, 1, 2, 3]]
    assert positions_from_lengths(lengths, documents="continue").tolist() == [list(range(5))] * 2
    continued = positions_from_lengths(lengths, documents="continue")
    continued[0].fill_(7)  # no row shares the memory of another
    assert continued[1].tolist() == list(range(5))
    assert positions_from_lengths(torch.zeros(0, 3, dtype=torch.int64)).shape == (0, 0)


def test_a_piece_may_begin_inside_a_document():
    piece = torch.tensor([1024, 1025, 1026, 1027, 0, 1])

    assert cumulative_lengths(piece).tolist() == [0, 4, 6]
    assert cumulative_lengths(piece[:4].int()).tolist() == [0, 4]
    assert cumulative_lengths(piece[:0]).tolist() == [0]
    assert cumulative_lengths(torch.tensor([5, 5, 4])).tolist() == [0, 1, 2, 3]


def test_steps_of_decoding():
    assert decoding_positions(3).tolist() == [0, 1, 2]
    assert decoding_positions(1, 6).tolist() == [6]
    assert decoding_positions(2, -3).tolist() == [-3, -2]
    assert decoding_positions(0, 2**63 - 1).tolist() == []
    assert decoding_positions(1, 2**63 - 1).tolist() == [2**63 - 1]
    assert decoding_positions(1, torch.tensor(2**63 - 1)).tolist() == [2**63 - 1]
    assert decoding_positions(2, torch.tensor(4, dtype=torch.int32)).tolist() == [4, 5]
    assert decoding_positions(2, torch.tensor([[3, 5]])).tolist() == [[[3, 4], [5, 6]]]
    assert last_positions(2, 5).tolist() == last_positions(2, torch.tensor(5)).tolist() == [3, 4]
    assert last_positions(2, torch.tensor([2, 7])).tolist() == [[0, 1], [5, 6]]


def test_rows_of_a_speculative_step_go_on_each_by_what_it_kept():
    offset, kept = torch.tensor([6, 6]), torch.tensor([1, 3])

    assert decoding_positions(3, offset + kept).tolist() == [[7, 8, 9], [9, 10, 11]]


@pytest.mark.parametrize("window", [1, 2, 4, 7])
def test_a_rolling_cache_holds_the_last_tokens(window):
    slots, moved = [-1] * window, [-1] * window
    for seen in range(20):
        ring, queue = rolling_positions(seen, window), rolling_positions(seen, window, order="oldest-first")
        assert ring[ring >= 0].tolist() == [p for p in slots if p >= 0]
        assert queue.clamp(min=-1).tolist() == moved
        assert torch.equal(ring.sort().values, queue)
        counts = torch.tensor([[seen], [seen + 3]])
        assert torch.equal(rolling_positions(counts, window)[0, 0], ring)
        slots[seen % window] = seen
        moved = [*moved[1:], seen]


CONVENTIONS = [("transformer", 16), ("transformer", 7), ("fairseq", 16), ("openai-whisper", 8)]


@pytest.mark.parametrize(("convention", "dim"), CONVENTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_pieces_equal_the_whole(convention, dim, dtype):
    whole = table(12, dim, convention, dtype=dtype)

    def rows(positions):
        return encode(positions, dim, convention, dtype=dtype)

    # Split and decode.
    assert torch.equal(torch.cat([rows(decoding_positions(n, at)) for n, at in ((6, 0), (1, 6), (5, 7))]), whole)
    assert torch.equal(torch.cat([rows(last_positions(1, n)) for n in range(1, 13)]), whole)
    # Pack and part.
    packed = rows(positions_from_lengths([5, 0, 7]))
    assert torch.equal(packed, torch.cat([whole[:5], whole[:7]]))
    # Pad.
    mask = torch.tensor([[0] * 4 + [1] * 8, [1] * 8 + [0] * 4, [1, 0, 1] * 4])
    for row, real in zip(rows(positions_from_mask(mask)), mask.bool(), strict=True):
        assert torch.equal(row[real], whole[: int(real.sum())])
    # Roll.
    held = rolling_positions(12, 5)
    assert torch.equal(rows(held)[held.argsort()], whole[-5:])


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("max_len", [4, 100])
def test_pieces_equal_the_whole_through_the_layer(batch_first, max_len):
    layer = PositionalEncoding(8, 0.0, max_len, batch_first=batch_first)

    def turned(x):
        return x if batch_first else x.transpose(0, 1)

    def through(x, **options):
        return turned(layer(turned(x), **options))

    x = torch.randn(1, 12, 8)
    whole = through(x)
    steps = [through(x[:, at : at + n], positions=decoding_positions(n, at)) for at, n in ((0, 6), (6, 1), (7, 5))]
    assert torch.equal(torch.cat(steps, 1), whole)
    # One row alone, and with padding on either side.
    padded = torch.zeros(2, 16, 8)
    padded[0, 4:], padded[1, :12] = x[0], x[0]
    mask = torch.tensor([[0] * 4 + [1] * 12, [1] * 12 + [0] * 4])
    made = through(padded, positions=positions_from_mask(mask))
    assert torch.equal(made[0, 4:], whole[0])
    assert torch.equal(made[1, :12], whole[0])
    # The token that comes next, for each row.
    following = through(x[:, :1].expand(2, 1, 8), offset=next_positions(mask))
    assert torch.equal(following[:1], through(x[:, :1], offset=12))
    assert torch.equal(following[:1], following[1:])
    # Packed, then parted.
    packed = through(torch.cat([x[:, :5], x[:, :7]], 1), positions=positions_from_lengths([5, 7]))
    assert torch.equal(packed, torch.cat([whole[:, :5], whole[:, :7]], 1))


def test_the_same_numbers_as_the_embedding_that_counts_tokens():
    front = SequenceEmbedding(20, 8, 0.0, convention="fairseq", padding_idx=1)
    ids = torch.tensor([[1, 1, 5, 6], [5, 6, 1, 1]])

    made = positions_from_mask(ids != 1)

    assert torch.equal(front(ids), front(ids, positions=made))


def test_a_padded_prompt_attends_as_it_does_alone():
    layer, x = PositionalEncoding(8, 0.0), torch.randn(1, 5, 8)
    alone = layer(x)
    padded, mask = torch.cat([torch.randn(1, 3, 8), x], 1), torch.tensor([[0] * 3 + [1] * 5])

    def attended(tokens, keep=None):
        return scaled_dot_product_attention(tokens, tokens, tokens, attn_mask=keep)

    counted = attended(layer(padded, positions=positions_from_mask(mask)), mask.bool().unsqueeze(1))[:, 3:]
    columns = attended(layer(padded), mask.bool().unsqueeze(1))[:, 3:]

    # Sums over eight keys, three of them masked, in another order.
    assert (counted - attended(alone)).abs().max() <= 1e-5
    assert (columns - attended(alone)).abs().max() > 1e-2

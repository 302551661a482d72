"""Conventions of fairseq's family count real tokens: left padding moves nothing, as their systems have it."""

import pytest
import torch
from tests.golden import records

import posenc
from posenc import PositionalEncoding, SequenceEmbedding, encode, positions_from_mask

FAMILY = ["fairseq", "m2m100", "fsmt", "speech2text", "trocr"]
# True is padding: left, none, right, between and everywhere.
MASK = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1]]).bool()
# By hand: real tokens before the token, in its row.
PLACES = [[None, None, None, 0, 1], [0, 1, 2, 3, 4], [0, 1, None, None, None], [0, None, 1, None, 2], [None] * 5]


def expected(name, dim, offsets, dtype=torch.float32):
    rows = torch.zeros(5, 5, dim, dtype=dtype)
    for i, (row, offset) in enumerate(zip(PLACES, offsets, strict=True)):
        for j, place in enumerate(row):
            if place is not None:
                rows[i, j] = encode(place + offset, dim, name, dtype=dtype)
    return rows


def test_these_are_the_conventions_that_count_tokens():
    assert [name for name, rule in posenc.conventions.items() if rule.numbering == "tokens"] == FAMILY


@pytest.mark.parametrize("name", FAMILY)
def test_it_is_what_the_system_gives_for_padded_tokens(name):
    # One source, which the others copied: rows of HF's classes were recorded without padding, and are these.
    for record in records("fairseq_sinusoidal_padded"):
        tokens = torch.tensor(record.said["tokens"])[None]
        layer = PositionalEncoding(record.dim, dropout=0.0, convention=name)

        rows = layer(torch.zeros(1, tokens.shape[1], record.dim), padding_mask=tokens == 1)[0]

        assert (rows - record.values).abs().max() <= record.system_error + record.unit


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("max_len", [64, 3])
class TestTheLayer:
    def test_counts_real_tokens(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name)

        assert torch.equal(layer(torch.zeros(5, 5, 8), padding_mask=MASK), expected(name, 8, [0] * 5))

    def test_sequence_first(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name, batch_first=False)

        got = layer(torch.zeros(5, 5, 8), padding_mask=MASK)

        assert torch.equal(got.transpose(0, 1), expected(name, 8, [0] * 5))

    def test_after_tokens_before_as_a_decoder(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name)
        seen = torch.tensor([3, 0, 7, 1, 9])

        assert torch.equal(layer(torch.zeros(5, 5, 8), offset=4, padding_mask=MASK), expected(name, 8, [4] * 5))
        got = layer(torch.zeros(5, 5, 8), offset=seen, padding_mask=MASK)
        assert torch.equal(got, expected(name, 8, seen.tolist()))

    def test_positions_that_are_given_are_taken(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name)
        positions = torch.tensor([4, 3, 2, 1, 0])

        got = layer(torch.zeros(5, 5, 8), positions=positions, padding_mask=MASK)

        assert torch.equal(got, encode(positions, 8, name).masked_fill(MASK.unsqueeze(-1), 0))

    def test_in_a_compiled_graph(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name)
        torch.compiler.reset()
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")

        got = compiled(torch.zeros(5, 5, 8), padding_mask=MASK)

        # Graphs are at most one unit in the last place off.
        torch.testing.assert_close(got, expected(name, 8, [0] * 5), rtol=0, atol=2.0**-24)

    def test_pieces_are_the_whole(self, name, max_len):
        layer = PositionalEncoding(8, dropout=0.0, max_len=max_len, convention=name)
        x = torch.zeros(5, 5, 8)
        before = (~MASK[:, :2]).sum(-1)

        pieces = layer(x[:, :2], padding_mask=MASK[:, :2]), layer(x[:, 2:], offset=before, padding_mask=MASK[:, 2:])

        assert torch.equal(torch.cat(pieces, 1), layer(x, padding_mask=MASK))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("batch_first", [True, False])
def test_ids_with_padding_are_counted_by_the_same_rule(name, batch_first):
    front = SequenceEmbedding(9, 8, 0.0, convention=name, padding_idx=1, batch_first=batch_first)
    front.embedding.weight.detach().zero_()
    ids = torch.where(MASK, 1, 5)

    for offset in (0, 6, torch.tensor([3, 0, 7, 1, 9])):
        got = front(ids if batch_first else ids.T, offset=offset).detach()
        starts = offset.tolist() if isinstance(offset, torch.Tensor) else [offset] * 5
        assert torch.equal(got if batch_first else got.transpose(0, 1), expected(name, 8, starts))


def test_the_others_count_columns_as_ever():
    layer = PositionalEncoding(8, dropout=0.0)

    got = layer(torch.zeros(5, 5, 8), padding_mask=MASK)

    assert torch.equal(got, encode(torch.arange(5), 8).expand(5, 5, 8).masked_fill(MASK.unsqueeze(-1), 0))
    given = layer(torch.zeros(5, 5, 8), positions=positions_from_mask(key_padding_mask=MASK[[0] * 5]))
    assert torch.equal(given[0, 3:], encode(torch.arange(2), 8))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.int8, torch.uint8, torch.bool, torch.float32])
def test_masks_of_every_dtype_say_the_same(dtype):
    real = (~MASK[:4]).to(dtype)
    padding = MASK[:4].to(dtype)

    wanted = torch.tensor([[place if place is not None else 0 for place in row] for row in PLACES[:4]])
    assert torch.equal(positions_from_mask(real), wanted)
    assert torch.equal(positions_from_mask(key_padding_mask=padding), wanted)
    assert posenc.positions.next_positions(real).tolist() == [2, 5, 2, 3]

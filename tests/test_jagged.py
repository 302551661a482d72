"""Nested tensors: rows of unlike lengths, each counted from its own start; others are refused with a way out."""

import warnings

import pytest
import torch

from posenc import (
    EncoderBlock,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RotaryEmbedding,
    SequenceEmbedding,
    encode,
    rotate,
)
from posenc.errors import DtypeError, InputError
from posenc.positions import positions_from_mask

LENGTHS = (3, 0, 5, 1)
ROWS = [torch.randn(n, 8) for n in LENGTHS]
IDS = [torch.randint(1, 10, (n,)) for n in LENGTHS]
HEADS = [torch.randn(n, 2, 4) for n in LENGTHS]


def jagged(rows):
    return torch.nested.nested_tensor(rows, layout=torch.jagged)


def same(got, wanted):
    return all(torch.equal(a, b) for a, b in zip(got.unbind(), wanted, strict=True))


def heads(order):
    """q of two heads and k of one, rows of the same lengths, for seq_dim -3 or -2."""
    q = jagged(HEADS)
    k = torch.nested.nested_tensor_from_jagged(torch.randn(sum(LENGTHS), 1, 4), offsets=q.offsets())
    return (q, k) if order == -3 else (q.transpose(1, 2), k.transpose(1, 2))


LAYERS = {
    "layer": (PositionalEncoding(8, dropout=0.0, max_len=4), ROWS),
    "layer, sequence first": (PositionalEncoding(8, dropout=0.0, batch_first=False), ROWS),
    "layer, fairseq": (PositionalEncoding(8, dropout=0.0, convention="fairseq"), ROWS),
    "learned": (LearnedPositionalEmbedding(64, 8, dropout=0.0), ROWS),
    "sequence": (SequenceEmbedding(10, 8, dropout=0.0), IDS),
    "sequence with padding": (SequenceEmbedding(10, 8, dropout=0.0, padding_idx=0, convention="fairseq"), IDS),
}


@pytest.mark.parametrize("name", LAYERS)
class TestEachRowStartsAtZero:
    def test_as_if_it_were_the_only_one(self, name):
        layer, rows = LAYERS[name]

        assert same(layer(jagged(rows)), [layer(row) for row in rows])

    def test_with_an_offset_for_all_or_for_each(self, name):
        layer, rows = LAYERS[name]
        starts = torch.tensor([7, 1, 0, 40])

        assert same(layer(jagged(rows), offset=7), [layer(row, offset=7) for row in rows])
        wanted = [layer(row, offset=int(start)) for row, start in zip(rows, starts, strict=True)]
        assert same(layer(jagged(rows), offset=starts), wanted)

    def test_with_positions_of_its_own(self, name):
        layer, rows = LAYERS[name]
        x, places = jagged(rows), torch.tensor([5, 1, 2, 9, 8, 7, 6, 5, 0])
        positions = torch.nested.nested_tensor_from_jagged(places, offsets=x.offsets())

        wanted = [layer(row, positions=at) for row, at in zip(rows, places.split(LENGTHS), strict=True)]
        assert same(layer(x, positions=positions), wanted)

    def test_in_one_compiled_graph(self, name):
        layer, rows = LAYERS[name]
        torch.compiler.reset()
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")

        for got, wanted in zip(compiled(jagged(rows)).unbind(), layer(jagged(rows)).unbind(), strict=True):
            torch.testing.assert_close(got, wanted)

    def test_what_does_not_fit_its_rows_is_refused(self, name):
        layer, rows = LAYERS[name]
        x = jagged(rows)

        with pytest.raises(InputError, match=r"offset of shape \(3,\), but wanted shape \(\) or \(4,\); .+ 4 rows"):
            layer(x, offset=torch.zeros(3, dtype=torch.int64))
        with pytest.raises(InputError, match="positions that do not have the rows of"):
            layer(x, positions=torch.zeros(4, 5, dtype=torch.int64))
        with pytest.raises(InputError, match="positions that do not have the rows of"):
            layer(x, positions=jagged([torch.zeros(n, dtype=torch.int64) for n in LENGTHS]))

    def test_rows_with_gaps_are_refused_with_a_way_that_works(self, name):
        layer, rows = LAYERS[name]
        wide = torch.stack([rows[2], rows[2]])
        x = torch.nested.narrow(wide, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)

        with pytest.raises(InputError, match=r"pass (x|ids).contiguous\(\)"):
            layer(x)
        assert same(layer(x.contiguous()), [layer(wide[0, :2]), layer(wide[1, 1:4])])


def test_residual_sums_and_gradients_go_through():
    layer = PositionalEncoding(8, dropout=0.0)
    x = jagged(ROWS).requires_grad_()

    (x + layer(x)).values().sum().backward()

    assert torch.equal(x.grad.values(), torch.full((9, 8), 2.0))


@pytest.mark.parametrize("seq_dim", [-3, -2, 1, 2])
class TestRotary:
    def test_each_row_is_turned_as_if_it_were_the_only_one(self, seq_dim):
        layer, (q, k) = RotaryEmbedding(4, seq_dim=seq_dim), heads(-3 if seq_dim in (-3, 1) else -2)
        turned_q, turned_k = layer(q, k)

        for row in zip(*(each.unbind() for each in (q, k, turned_q, turned_k)), strict=True):
            wanted = layer(row[0].unsqueeze(0), row[1].unsqueeze(0))
            assert torch.equal(row[2], wanted[0].squeeze(0))
            assert torch.equal(row[3], wanted[1].squeeze(0))

    def test_offsets_and_graphs(self, seq_dim):
        layer, (q, k) = RotaryEmbedding(4, seq_dim=seq_dim), heads(-3 if seq_dim in (-3, 1) else -2)
        starts = torch.tensor([7, 1, 0, 40])
        torch.compiler.reset()
        compiled = torch.compile(lambda q, k: layer(q, k, offset=starts), fullgraph=True, backend="aot_eager")

        for each, graph, x in zip(layer(q, k, offset=starts), compiled(q, k), (q, k), strict=True):
            for row, other, came, start in zip(each.unbind(), graph.unbind(), x.unbind(), starts, strict=True):
                axis = -3 if seq_dim in (-3, 1) else -2
                places = torch.arange(came.shape[axis]) + start
                assert torch.equal(row, rotate(came.unsqueeze(0), places, seq_dim=axis).squeeze(0))
                torch.testing.assert_close(other, row)


def test_turned_queries_and_keys_go_into_attention():
    q, _ = heads(-2)
    turned = RotaryEmbedding(4)(q, q)

    assert torch.nn.functional.scaled_dot_product_attention(*turned, q).shape == q.shape


def test_rows_that_may_differ_are_refused():
    q, k = heads(-3)

    with pytest.raises(InputError, match=r"k that is not nested, .+ nest k with the same offsets"):
        RotaryEmbedding(4, seq_dim=-3)(q, torch.zeros(4, 5, 2, 4))
    with pytest.raises(InputError, match="not known to be of the same lengths"):
        RotaryEmbedding(4, seq_dim=-3)(q, jagged(HEADS))
    with pytest.raises(InputError, match="rows of unlike lengths along axis 2; transpose it"):
        RotaryEmbedding(4)(q, k)
    with pytest.raises(InputError, match="rows of unlike lengths along axis 1; transpose it"):
        PositionalEncoding(8)(jagged(ROWS).transpose(1, 2))
    with pytest.raises(InputError, match=r"padding_mask with nested x, but wanted rows without padding"):
        PositionalEncoding(8)(jagged(ROWS), padding_mask=torch.zeros(4, 5, dtype=torch.bool))


def strided(rows):
    with warnings.catch_warnings():
        # torch recommends jagged ones.
        warnings.simplefilter("ignore", UserWarning)
        return torch.nested.nested_tensor(rows, layout=torch.strided)


def placed(positions):
    return PositionalEncoding(8)(torch.zeros(4, 5, 8), positions=positions)


REFUSED = {
    "layer": (PositionalEncoding(8, dropout=0.0), strided(ROWS)),
    "learned": (LearnedPositionalEmbedding(8, 8, dropout=0.0), strided(ROWS)),
    "rows_for": (lambda x: PositionalEncoding(8).rows_for(x), jagged(ROWS)),
    "rows_for, strided": (lambda x: LearnedPositionalEmbedding(8, 8).rows_for(x), strided(ROWS)),
    "sequence": (SequenceEmbedding(10, 8, dropout=0.0), strided(IDS)),
    "rotary": (lambda q: RotaryEmbedding(8)(q, q), strided(ROWS)),
    "rotate": (lambda x: rotate(x, torch.arange(5)), jagged(ROWS)),
    "mask": (positions_from_mask, strided([ids + 1 for ids in IDS if len(ids)])),
    "positions": (placed, strided(IDS)),
    "positions, jagged": (placed, jagged(IDS)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_nested_tensors_are_refused_with_a_line_that_works(name):
    call, given = REFUSED[name]
    with pytest.raises((InputError, DtypeError), match="nested") as caught:
        call(given)
    line = str(caught.value).rpartition("; pass ")[2].removesuffix(".").partition(", or make ")[0]
    word = line.partition("padded_tensor(")[2].partition(",")[0]

    call(eval(line, {"torch": torch, word: given}))


@pytest.mark.parametrize("name", ["layer", "learned", "sequence", "rotary"])
def test_a_layer_that_takes_jagged_rows_says_so_to_strided_ones(name):
    call, given = REFUSED[name]

    with pytest.raises(InputError, match=r"or make (x|ids|q) with layout=torch\.jagged\.$"):
        call(given)


@pytest.mark.parametrize("x", [jagged(ROWS), strided(ROWS)], ids=["jagged", "strided"])
def test_a_block_asks_for_padded_rows_and_their_mask(x):
    block = EncoderBlock(8, 2, dropout=0.0)
    padded = torch.nested.to_padded_tensor(x, 0)
    mask = torch.arange(padded.shape[1]) >= torch.tensor(LENGTHS).unsqueeze(-1)

    with pytest.raises(InputError, match=r"to_padded_tensor\(x, 0\) and a padding_mask that is True behind the end of"):
        block(x)
    for got, row in zip(block(padded, padding_mask=mask), ROWS, strict=True):
        torch.testing.assert_close(got[: len(row)], block(row))


def test_the_padded_tensor_is_encoded_alike():
    padded = torch.nested.to_padded_tensor(jagged(ROWS), 0)

    got = PositionalEncoding(8, dropout=0.0)(padded)

    for row, came, length in zip(got, ROWS, LENGTHS, strict=True):
        assert torch.equal(row[:length], came + encode(torch.arange(length), 8))

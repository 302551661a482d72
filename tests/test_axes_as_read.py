"""Errors of masks, positions and offsets say how the input was read, and the way out where it was meant otherwise."""

import pytest
import torch

from posenc import EncoderBlock, LearnedPositionalEmbedding, PositionalEncoding, RotaryEmbedding, SequenceEmbedding
from posenc.errors import DtypeError, InputError

INT = torch.int64
BATCH = "x is read as (batch 5, sequence 2); if it is (sequence, batch, d_model), pass batch_first=False."
SEQUENCE = "x is read as (sequence 5, batch 2); if it is (batch, sequence, d_model), pass batch_first=True."
X, IDS = torch.zeros(5, 2, 32), torch.zeros(5, 2, dtype=INT)
LAYERS = {
    "layer": lambda batch_first: PositionalEncoding(32, batch_first=batch_first),
    "learned": lambda batch_first: LearnedPositionalEmbedding(8, 32, batch_first=batch_first),
    "block": lambda batch_first: EncoderBlock(32, 2, 8, rotary=RotaryEmbedding(16), batch_first=batch_first),
}


def said(call):
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("name", LAYERS)
def test_a_mask_or_positions_of_the_other_layout(name):
    layer, other = LAYERS[name](True), LAYERS[name](False)

    # What a user of sequence-first embeddings passes: (batch 2, sequence 5).
    assert said(lambda: layer(X, padding_mask=torch.zeros(2, 5, dtype=torch.bool))).endswith(BATCH)
    assert said(lambda: layer(X, positions=torch.zeros(2, 5, dtype=INT))).endswith(BATCH)
    assert said(lambda: other(X, padding_mask=torch.zeros(5, 2, dtype=torch.bool))).endswith(SEQUENCE)
    assert said(lambda: other(X, positions=torch.zeros(5, 2, dtype=INT))).endswith(SEQUENCE)


@pytest.mark.parametrize("name", ["layer", "learned"])
def test_an_offset_of_the_other_layout(name):
    assert said(lambda: LAYERS[name](True)(X, offset=torch.zeros(2, dtype=INT))).endswith(BATCH)
    assert said(lambda: LAYERS[name](False)(X, offset=torch.zeros(5, dtype=INT))).endswith(SEQUENCE)


def test_the_whole_message():
    assert said(lambda: PositionalEncoding(32)(X, padding_mask=torch.zeros(2, 5, dtype=torch.bool))) == (
        "got padding_mask of shape (2, 5), but wanted shape (5, 2); pass one value for each token: " + BATCH
    )


def test_ids_are_called_ids():
    front, other = SequenceEmbedding(9, 8), SequenceEmbedding(9, 8, batch_first=False)

    assert said(lambda: front(IDS, positions=torch.zeros(2, 5, dtype=INT))).endswith(
        "ids are read as (batch 5, sequence 2); if it is (sequence, batch), pass batch_first=False."
    )
    assert said(lambda: other(IDS, offset=torch.zeros(5, dtype=INT))).endswith(
        "ids are read as (sequence 5, batch 2); if it is (batch, sequence), pass batch_first=True."
    )


def test_a_learned_table_that_is_too_short_for_the_wrong_axis():
    layer = LearnedPositionalEmbedding(4, 32)

    assert said(lambda: layer(X.transpose(0, 1))).endswith(
        'take layer.resize(5, "draw"): x is read as (batch 2, sequence 5); '
        "if it is (sequence, batch, d_model), pass batch_first=False."
    )
    assert said(lambda: layer(X, offset=3)).endswith(BATCH)
    assert said(lambda: layer(X, positions=torch.tensor([0, 4]))).endswith(BATCH)


def test_inputs_of_one_reading_have_no_other():
    assert said(lambda: PositionalEncoding(32)(X[0], positions=torch.zeros(3, dtype=INT))).endswith(
        "x is read as one sequence of 2."
    )
    assert said(lambda: PositionalEncoding(32)(X[None], offset=torch.zeros(2, dtype=INT))).endswith(
        "x is read as (batch 1 x 5, sequence 2)."
    )


def test_rotary_names_the_axis_of_the_sequence():
    layer, x = RotaryEmbedding(4), torch.zeros(2, 5, 3, 4)

    assert "seq_dim" in said(lambda: layer(x, x, positions=torch.zeros(2, 5, dtype=INT)))
    assert said(lambda: layer(x, x, offset=torch.zeros(5, dtype=INT))).endswith("pass seq_dim.")


CALLS = {
    "layer": lambda *others: PositionalEncoding(32)(X, *others),
    "learned": lambda *others: LearnedPositionalEmbedding(8, 32)(X, *others),
    "sequence": lambda *others: SequenceEmbedding(9, 8)(IDS, *others),
    "block": lambda *others: EncoderBlock(32, 2, 8, rotary=RotaryEmbedding(16))(X, *others),
    "rotary": lambda *others: RotaryEmbedding(32)(X, X, *others),
    "rotary, one": lambda *others: RotaryEmbedding(32).rotate(X, *others),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_second_argument_is_asked_for_its_name(name):
    with pytest.raises(DtypeError, match=r"positions.* by name; write positions=\.\.\. if it is that"):
        CALLS[name](torch.zeros(2))
    with pytest.raises(TypeError, match="by name"):
        CALLS[name](3)


def test_a_second_argument_is_refused_in_the_common_form_too():
    layer = PositionalEncoding(32).eval()

    with pytest.raises(DtypeError, match=r"got 3 after x, .+; write offset=\.\.\. if it is that"):
        layer(X, 3)
    with pytest.raises(DtypeError, match=r"write padding_mask=\.\.\. if it is that"):
        layer(X, torch.zeros(5, 2, dtype=torch.bool))
    with pytest.raises(DtypeError, match=r"got None after x"):
        layer(X, None)


@pytest.mark.parametrize("x", [[[1.0]], None, torch.zeros(8), torch.tensor(1.0)])
def test_rows_for_takes_what_forward_takes(x):
    for layer in (PositionalEncoding(8), LearnedPositionalEmbedding(8, 8)):
        with pytest.raises((InputError, DtypeError), match="got x of"):
            layer.rows_for(x)

"""The encoder block: torch's own layer given its weights, and a slot for every encoding."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from posenc import AlibiBias, EncoderBlock, PositionalEncoding, RelativePositionBias
from posenc.errors import DtypeError, PosencError
from posenc.modules.rotary import RotaryEmbedding

# Two ways to sum the same products of float64: some units of 2^-53 for each of the few hundred of them.
TO_ROUNDING = 1e-12


def torch_layer(**options):
    made = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, dtype=torch.float64, **options)
    return made.eval()


def block(**options) -> EncoderBlock:
    torch.manual_seed(0)
    return EncoderBlock(16, 4, 32, dropout=0.0, dtype=torch.float64, **options).eval()


def inputs(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("norm", ["after", "before"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("shape", [(3, 5, 16), (5, 16), (1, 1, 16)])
def test_it_is_the_layer_of_torch_given_its_weights(norm, activation, shape):
    theirs = torch_layer(activation=activation, norm_first=norm == "before")
    ours = block(activation=activation, norm=norm)

    assert not any(ours.load_state_dict(theirs.state_dict()))
    assert (ours(inputs(*shape)) - theirs(inputs(*shape))).abs().max() <= TO_ROUNDING


def test_padding_and_causal_are_those_of_torch():
    theirs, ours = torch_layer(), block()
    ours.load_state_dict(theirs.state_dict())
    x = inputs(2, 4, 16)
    padding = torch.tensor([[False, False, False, True], [False, True, True, True]])
    future = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)

    away = (ours(x, padding_mask=padding) - theirs(x, src_key_padding_mask=padding))[~padding].abs().max()
    assert away <= TO_ROUNDING
    assert (ours(x, attend="causal") - theirs(x, src_mask=future)).abs().max() <= TO_ROUNDING


def test_sequence_first_is_the_same_transposed():
    first = block()
    last = copy.deepcopy(first)
    last.batch_first = False
    x = inputs(3, 5, 16)

    assert torch.equal(last(x.transpose(0, 1)), first(x).transpose(0, 1))


def test_without_positions_it_is_blind_to_order_and_with_them_it_is_not():
    x, order = inputs(1, 5, 16), torch.tensor([3, 1, 4, 0, 2])
    plain = block()

    assert (plain(x)[:, order] - plain(x[:, order])).abs().max() <= TO_ROUNDING
    slots = {"rotary": RotaryEmbedding(4)}, {"bias": AlibiBias(4)}, {"bias": RelativePositionBias(4).double()}
    for slot in slots:
        sees = block(**slot)
        assert (sees(x)[:, order] - sees(x[:, order])).abs().max() > 1e-3
    front = PositionalEncoding(16, dropout=0.0)
    assert (plain(front(x))[:, order] - plain(front(x[:, order]))).abs().max() > 1e-3


def test_rotary_and_bias_see_distances_alone():
    x = inputs(2, 5, 16)
    for slot in ({"rotary": RotaryEmbedding(4)}, {"bias": AlibiBias(4)}, {"bias": RelativePositionBias(4).double()}):
        made = block(**slot)
        here, there = torch.arange(5), torch.arange(5) + 1000
        # A turn by a thousand positions in float64 costs its rounding.
        assert (made(x, positions=here) - made(x, positions=there)).abs().max() <= TO_ROUNDING
        assert torch.equal(made(x), made(x, positions=here))


@pytest.mark.parametrize("bias", [AlibiBias(4), RelativePositionBias(4).double()], ids=["alibi", "relative"])
@pytest.mark.parametrize("attend", ["all", "causal"])
def test_one_sequence_is_a_batch_of_one(bias, attend):
    x = inputs(1, 5, 16)
    for made in (block(bias=bias), block(bias=bias, rotary=RotaryEmbedding(4))):
        alone = made(x[0], attend=attend)
        assert alone.shape == x[0].shape
        assert (alone - made(x, attend=attend)[0]).abs().max() <= TO_ROUNDING
        assert (made(x[0], positions=torch.arange(5)) - made(x)[0]).abs().max() <= TO_ROUNDING


def test_left_padding_with_positions_changes_nothing_for_real_tokens():
    made = block(rotary=RotaryEmbedding(4))
    x = inputs(1, 3, 16)
    padded = torch.cat((inputs(1, 2, 16), x), 1)
    mask = torch.tensor([[True, True, False, False, False]])
    positions = torch.tensor([[0, 0, 0, 1, 2]])

    assert (made(padded, positions=positions, padding_mask=mask)[:, 2:] - made(x)).abs().max() <= TO_ROUNDING


@pytest.mark.parametrize("slot", ["rotary", "alibi", "relative", "none"])
def test_gradients_flow_and_training_differs(slot):
    slots = {
        "rotary": {"rotary": RotaryEmbedding(4)}, "alibi": {"bias": AlibiBias(4)},
        "relative": {"bias": RelativePositionBias(4)}, "none": {},
    }  # fmt: skip
    torch.manual_seed(0)
    made = EncoderBlock(16, 4, 32, dropout=0.5, **slots[slot])
    x = torch.randn(2, 3, 16, requires_grad=True)
    made(x).sum().backward()

    assert all(parameter.grad is not None for parameter in made.parameters())
    assert x.grad is not None
    assert not torch.equal(made(x), made(x))
    assert torch.equal(made.eval()(x), made(x))


REFUSED = {
    "heads": (lambda: EncoderBlock(16, 3), "a multiple of num_heads"),
    "device": (lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 16, device="meta")), "x on meta and the block on cpu"),
    "dtype": (
        lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 16).double()),
        "and a block of torch.float32",
    ),
    "dtype of the block": (lambda: EncoderBlock(16, 4, dtype=torch.complex64), "dtype=torch.complex64"),
    "device of the block": (lambda: EncoderBlock(16, 4, device="foo"), "device='foo'"),
    "positions that nothing reads": (
        lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 16), positions=torch.arange(2)),
        "positions for a block without rotary and bias",
    ),
    "activation": (lambda: EncoderBlock(16, 4, activation="tanh"), "'relu' or 'gelu'"),
    "norm": (lambda: EncoderBlock(16, 4, norm=True), "'after' or 'before'"),
    "rotary width": (lambda: EncoderBlock(16, 4, rotary=RotaryEmbedding(8)), "dim 4"),
    "bias heads": (lambda: EncoderBlock(16, 4, bias=AlibiBias(8)), "4 heads"),
    "attend": (lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 16), attend=True), "'all' or 'causal'"),
    "width": (lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 8)), "16"),
    # As many rows as heads.
    "positions of rows": (
        lambda: EncoderBlock(16, 4, rotary=RotaryEmbedding(4))(torch.zeros(2, 16), positions=torch.zeros(4, 2)),
        "positions of shape",
    ),
    "mask": (lambda: EncoderBlock(16, 4)(torch.zeros(1, 2, 16), padding_mask=torch.zeros(1, 3) > 0), "padding_mask"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case):
    make, said = REFUSED[case]

    with pytest.raises(PosencError, match=said):
        make()


def test_an_added_encoding_is_sent_in_front():
    with pytest.raises(DtypeError, match="in front of the block"):
        EncoderBlock(16, 4, rotary=PositionalEncoding(16))


@pytest.mark.slow
@pytest.mark.parametrize("slot", [{}, {"bias": AlibiBias(4)}, {"rotary": RotaryEmbedding(4)}], ids=str)
def test_it_compiles_whole(slot):
    made = block(**slot)
    fast = torch.compile(made, fullgraph=True)
    for length in (3, 4, 7):
        x = inputs(2, length, 16)
        assert (fast(x) - made(x)).abs().max() <= TO_ROUNDING


@pytest.mark.parametrize("slot", [{"rotary": RotaryEmbedding(4)}, {"bias": AlibiBias(4)}], ids=["rotary", "bias"])
@pytest.mark.parametrize("leading", [(2, 3), (2, 1, 3)])
@pytest.mark.parametrize("shared", [False, True])
def test_rows_of_several_axes_are_rows_of_one(slot, leading, shared):
    sees, x = block(**slot), inputs(*leading, 5, 16)
    places = torch.argsort(inputs(*((1,) * len(leading) if shared else leading), 5), -1)
    rows, flat = x.reshape(-1, 5, 16), places.expand(*leading, 5).reshape(-1, 5)

    assert (sees(x, positions=places).reshape(-1, 5, 16) - sees(rows, positions=flat)).abs().max() <= TO_ROUNDING
    # Given positions are seen.
    assert (sees(x, positions=places) - sees(x)).abs().max() > 1e-3

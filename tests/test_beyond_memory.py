"""Sizes that no memory holds and positions that no table reaches: errors of ours, with advice that can be followed."""

import pytest
import torch

from posenc import AlibiBias, LearnedPositionalEmbedding, RelativePositionBias, positions_from_lengths
from posenc.errors import InputError
from posenc.positions import grid_positions

# 10^14 numbers, each of 4 bytes or more, and lengths whose sums or bytes are no int64.
MANY = 10**7
LAST = 2**63 - 1
BIASES = {
    "alibi": lambda: AlibiBias(4),
    "alibi, past nearer": lambda: AlibiBias(4, form="past-nearer"),
    "alibi, keys alone, masked": lambda: AlibiBias(4, form="keys", future="masked"),
    "t5": lambda: RelativePositionBias(4),
    "t5, trained to a length": lambda: RelativePositionBias(4, direction="causal", future="masked"),
}


@pytest.mark.parametrize("sizes", [(MANY, MANY), (10**5,) * 4, (10**5,) * 13, (10**13,), (2**62, 2), (LAST, LAST)])
def test_cells(sizes):
    with pytest.raises(InputError, match=r"^got .*positions of shape \(.+\) .+, but wanted one that the mem"):
        grid_positions(sizes)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("count", [MANY, 10**13, 2**62, LAST])
def test_biases(bias, count):
    with pytest.raises(InputError, match="but wanted one that the memory holds; pass "):
        BIASES[bias]()(count, count)


@pytest.mark.parametrize("bias", BIASES)
def test_biases_of_given_positions(bias):
    with pytest.raises(InputError, match=r"got a bias of shape \(4, 10000000, 10000000\) and .+ in pieces"):
        BIASES[bias]()(MANY, MANY, key_positions=torch.arange(MANY))


@pytest.mark.parametrize("lengths", [[10**13], [2**62, 2**62], [2**62] * 5])
def test_lengths(lengths):
    with pytest.raises(InputError, match=r"wanted (one that|as many as) the memory holds; pass (a smaller|the number)"):
        positions_from_lengths(lengths)


def test_other_errors_of_torch_stay_what_they_are(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("another fault")

    monkeypatch.setattr(torch, "meshgrid", fails)
    with pytest.raises(RuntimeError, match="another fault"):
        grid_positions((2, 3))


@pytest.mark.parametrize("offset", [0, 2])
def test_no_table_is_advised_that_cannot_be(offset):
    layer, x = LearnedPositionalEmbedding(8, 8, position_offset=offset), torch.zeros(1, 1, 8)
    for last in (LAST, 2**58):
        with pytest.raises(InputError, match="pass smaller positions: no table has that many rows"):
            layer(x, positions=torch.tensor([last]))
    with pytest.raises(InputError, match="build it with max_len=21, or take layer"):
        layer(x, positions=torch.tensor([20]))

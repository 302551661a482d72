"""Bad input of every kind, to everything that takes it: an error of ours, on the host, before anything is computed."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import (
    AlibiBias,
    EncoderBlock,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
    positions_from_lengths,
    positions_from_mask,
    shard_positions,
)
from posenc.errors import PosencError

X, Q, IDS = torch.zeros(2, 5, 8), torch.zeros(2, 3, 5, 8), torch.ones(2, 5, dtype=torch.int64)
LAYER, LEARNED = PositionalEncoding(8, 0.0, 16), LearnedPositionalEmbedding(16, 8, 0.0)
FRONT, BLOCK, ROTARY = SequenceEmbedding(10, 8, 0.0), EncoderBlock(8, 2, 16), RotaryEmbedding(8)
TIMES = TimestepEmbedding(8)
TURNING = EncoderBlock(8, 2, 16, rotary=RotaryEmbedding(4))
BIASES = {"alibi": AlibiBias(2), "t5": RelativePositionBias(2)}
ADDING = {"layer": LAYER, "learned": LEARNED}
MASKED = {**ADDING, "block": BLOCK}
MASKS = {
    "of another shape": torch.zeros(2, 4) > 0,
    "of the shape turned round": torch.zeros(5, 2) > 0,
    "for one row": torch.zeros(5) > 0,
    "with an axis more": torch.zeros(2, 5, 1) > 0,
    "of floats": torch.zeros(2, 5),
    "of integers": torch.zeros(2, 5, dtype=torch.int64),
    "of floats to be added": torch.zeros(2, 5).masked_fill(IDS > 0, -torch.inf),
    "that is a list": [[True] * 5] * 2,
    "on another device": torch.zeros(2, 5, dtype=torch.bool, device="meta"),
    "that is sparse": (torch.zeros(2, 5) > 0).to_sparse(),
}
PLACES = {
    "of another length": torch.arange(4),
    "of another batch": torch.zeros(3, 5, dtype=torch.int64),
    "of truth values": torch.zeros(5) > 0,
    "of complex numbers": torch.zeros(5) * 1j,
    "that are not finite": torch.tensor([0, 1, 2, 3, torch.nan]),
    "that have merged": torch.arange(300, 305).bfloat16(),
    "on another device": torch.zeros(5, dtype=torch.int64, device="meta"),
    "that are sparse": torch.arange(5).to_sparse(),
}
SCALINGS = {
    "of an unknown kind": {"rope_type": "ntk-by-parts", "factor": 2.0},
    "of an unknown kind, in the old spelling": {"type": "exponential", "factor": 2.0},
    "of two kinds": {"type": "linear", "rope_type": "yarn", "factor": 2.0},
    "with an unknown field": {"rope_type": "linear", "factor": 2.0, "sharpness": 1.0},
    "without its factor": {"rope_type": "linear"},
    "with a factor of text": {"rope_type": "linear", "factor": "2"},
    "without its length": {"rope_type": "dynamic", "factor": 2.0},
    "of the wrong type": "linear",
}

BAD = {f"{who}: a mask {kind}": lambda m=m, mask=mask: m(X, padding_mask=mask)
       for who, m in MASKED.items() for kind, mask in MASKS.items()}  # fmt: skip
BAD |= {f"{who}: positions {kind}": lambda m=m, places=places: m(X, positions=places)
        for who, m in {**ADDING, "turning block": TURNING}.items() for kind, places in PLACES.items()}  # fmt: skip
BAD |= {f"front: positions {kind}": lambda places=places: FRONT(IDS, positions=places)
        for kind, places in PLACES.items()}  # fmt: skip
BAD |= {f"rotary: positions {kind}": lambda places=places: ROTARY(Q, Q, positions=places)
        for kind, places in PLACES.items()}  # fmt: skip
BAD |= {f"{who}: positions of keys {kind}": lambda b=b, places=places: b(2, 5, key_positions=places)
        for who, b in BIASES.items() for kind, places in PLACES.items() if kind != "of another batch"}  # fmt: skip
BAD |= {f"rotary: scaling {kind}": lambda scaling=scaling: RotaryEmbedding(8, scaling=scaling)
        for kind, scaling in SCALINGS.items()}  # fmt: skip
BAD |= {f"rotary: an odd width, {options}": lambda options=options: RotaryEmbedding(**options)
        for options in ({"dim": 9}, {"dim": 1}, {"dim": 4, "rotary_dim": 0.75}, {"dim": 8, "rotary_dim": 5})
        }  # fmt: skip
BAD |= {
    "mask: all padding": lambda: positions_from_mask(torch.tensor([[1, 1], [0, 0]])),
    "mask: all padding, under the other name": lambda: positions_from_mask(key_padding_mask=torch.ones(2, 3) > 0),
    "mask: no axis": lambda: positions_from_mask(torch.tensor(1)),
    "mask: floats to be added": lambda: positions_from_mask(torch.tensor([[0.0, -1e4]])),
    "lengths: they do not add up": lambda: positions_from_lengths([2, 3], total=6),
    "lengths: rows of unlike sums": lambda: positions_from_lengths([[2, 3], [2, 2]]),
    "lengths: below zero": lambda: positions_from_lengths([2, -1]),
    "lengths: ends that go down": lambda: positions_from_lengths(cu_seqlens=[0, 3, 2]),
    "shards: they do not add up": lambda: shard_positions(8, 0, 2, lengths=[5, 4]),
    "shards: rank as large as the world": lambda: shard_positions(8, 2, 2),
    "shards: rank below zero": lambda: shard_positions(8, -1, 2),
    "shards: a world of none": lambda: shard_positions(8, 0, 0),
    "shards: parts that are not equal": lambda: shard_positions(10, 0, 4, kind="zigzag"),
    "learned: longer than the table": lambda: LEARNED(torch.zeros(1, 17, 8)),
    "learned: an offset that leads beyond it": lambda: LEARNED(X, offset=12),
    "learned: an offset of one row": lambda: LEARNED(X, offset=torch.tensor([0, 12])),
    "learned: a position beyond it": lambda: LEARNED(X, positions=torch.tensor([0, 1, 2, 3, 16])),
    "learned: a position before it": lambda: LEARNED(X, positions=torch.tensor([0, 1, 2, 3, -1])),
    "learned: x on another device": lambda: LEARNED(X.to("meta")),
    "block: x on another device": lambda: BLOCK(X.to("meta")),
    "front: ids on another device": lambda: FRONT(IDS.to("meta")),
    "front: ids beyond the vocabulary": lambda: FRONT(torch.full((2, 5), 10)),
    "rotary: q and k on two devices": lambda: ROTARY(Q, Q.to("meta")),
    "rotary: more queries than keys": lambda: ROTARY(Q, Q[:, :, :4]),
    "times: truth values": lambda: TIMES(torch.tensor([True])),
}  # fmt: skip
# What makes a result. Positions and masks may be looked at: compared, reduced, added to see whether the sum fits.
COMPUTES = {
    "addmm", "bmm", "mm", "embedding", "native_layer_norm", "relu", "mul", "div", "sin", "cos", "cat", "stack", "where",
    "masked_fill", "index_select", "gather", "bucketize", "_softmax", "_scaled_dot_product_flash_attention_for_cpu",
}  # fmt: skip


class Kernels(TorchDispatchMode):
    """Notes what runs that is more than a look."""

    def __init__(self):
        super().__init__()
        self.ran: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().removeprefix("aten::").partition(".")[0]
        vectors = isinstance(args[0], torch.Tensor) and args[0].shape[-1:] == (8,) if args else False
        if name in COMPUTES or (name == "add" and vectors):
            self.ran.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_it_is_refused_before_anything_is_computed(call):
    with Kernels() as kernels, pytest.raises(PosencError) as caught:
        call()

    text = str(caught.value)
    assert text.startswith("got ")
    assert ", but wanted " in text
    assert text.endswith(".")
    assert kernels.ran == []


def test_the_noting_sees_what_computes():
    for call in (lambda: LAYER(X), lambda: LEARNED(X), lambda: BLOCK(X), lambda: FRONT(IDS), lambda: ROTARY(Q, Q)):
        with Kernels() as kernels:
            call()
        assert kernels.ran

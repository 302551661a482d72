"""Token ids to embeddings that know their place."""

from __future__ import annotations

import math

import pytest
import torch

import posenc
from posenc.errors import PosencError


def front(**options):
    return posenc.SequenceEmbedding(20, 16, 0.0, 32, **options)


def test_is_vectors_times_the_root_of_the_width_plus_encoding():
    made, ids = front(), torch.randint(0, 20, (3, 7))

    wanted = math.sqrt(16) * made.embedding(ids) + posenc.table(7, 16)

    # One product and one sum, fused or not: at most one rounding of each apart.
    assert torch.allclose(made(ids), wanted, rtol=2**-23, atol=2**-22)


def test_vectors_begin_as_large_as_the_encoding():
    made = posenc.SequenceEmbedding(1000, 64)

    # Standard error of a standard deviation over 64,000 draws: 1 / sqrt(2 * 64000) = 0.0028.
    assert (made.embedding.weight * made.scale).std().item() == pytest.approx(1, abs=5 * 0.0028)


def test_padding_is_zero_and_counted_as_a_column():
    made = front(padding_idx=1)
    with torch.no_grad():
        made.embedding.weight.normal_()  # an initialiser that knows nothing of padding
    ids = torch.tensor([[1, 1, 3, 4], [3, 4, 1, 1]])

    got = made(ids)

    assert got[ids == 1].abs().max() == 0
    assert torch.allclose(got[0, 2] - made.scale * made.embedding.weight[3], posenc.encode(2, 16), atol=2**-20)
    got.sum().backward()
    assert made.embedding.weight.grad[1].abs().max() == 0


def test_fairseq_counts_real_tokens():
    made = front(padding_idx=1, convention="fairseq")

    got = made(torch.tensor([[1, 1, 3, 4]]))[0]

    # The first real token has fairseq's position 2, padding_idx + 1.
    wanted = posenc.encode([2, 3], 16, "tensor2tensor")
    assert torch.allclose(got[2:] - made.scale * made.embedding.weight[[3, 4]], wanted, atol=2**-20)
    assert got[:2].abs().max() == 0


def test_layouts_agree():
    batch_first = front(padding_idx=0, convention="fairseq")
    sequence_first = front(padding_idx=0, convention="fairseq", batch_first=False)
    sequence_first.load_state_dict(batch_first.state_dict())
    ids = torch.randint(0, 4, (3, 7))

    assert torch.equal(batch_first(ids), sequence_first(ids.T).transpose(0, 1))
    assert torch.equal(batch_first(ids[0]), sequence_first(ids[0]))
    assert torch.equal(batch_first(ids, offset=5), sequence_first(ids.T, offset=5).transpose(0, 1))


def test_positions_reach_the_encoding():
    made, ids = front(), torch.tensor([[3, 4]])

    assert torch.equal(made(ids, positions=torch.tensor([[7, 8]])), made(ids, offset=7))


def test_dropout_in_training_only():
    made = posenc.SequenceEmbedding(20, 16, dropout=1.0)

    assert made(torch.tensor([[3]])).abs().max() == 0
    assert made.eval()(torch.tensor([[3]])).abs().max() > 0


def test_half_precision_and_compile():
    made, ids = front().bfloat16(), torch.randint(0, 20, (2, 5))

    assert made(ids).dtype == torch.bfloat16
    compiled = torch.compile(front(padding_idx=1), backend="aot_eager", fullgraph=True)
    assert compiled(ids).shape == (2, 5, 16)


@pytest.mark.parametrize(
    "ids",
    [
        torch.tensor([[20]]),
        torch.tensor([[-1]]),
        torch.tensor([0.5]),
        torch.tensor(3),
        torch.tensor([True]),
        torch.tensor([[1, 2]]).to_sparse(),
        torch.tensor([[1, 2]], device="meta"),
        [1, 2],
    ],
    ids=str,
)
def test_refused_ids(ids):
    with pytest.raises(PosencError, match="got ids"):
        front()(ids)


@pytest.mark.parametrize("options", [{"padding_idx": 20}, {"padding_idx": -1}, {"padding_idx": True}])
def test_refused_options(options):
    with pytest.raises(PosencError, match="got padding_idx"):
        front(**options)


def test_refused_sizes():
    with pytest.raises(PosencError, match="got num_embeddings=0"):
        posenc.SequenceEmbedding(0, 16)
    with pytest.raises(PosencError, match="got d_model=0"):
        posenc.SequenceEmbedding(10, 0)
    with pytest.raises(PosencError, match="with batch_first=False"):
        front(batch_first=False)(torch.zeros(2, 3, 4).long())

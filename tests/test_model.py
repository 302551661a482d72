"""The small classifier: blind without an encoding, indifferent to padding, repeatable in training."""

import math

import pytest
import torch
from torch import nn

from posenc import PositionalEncoding
from posenc.model import Classifier, accuracy, fit, logits, parameter_count, repeatable

TOKENS = torch.tensor([[1, 2, 3, 4], [4, 1, 3, 2]])
# Sums of a few hundred terms of size 1 in another order.
ROUNDING = 2.0**-53 * 1000
CHANCE = math.log(2)  # the loss of a model that says one half to everything


def made(encoding=None, seed=0):
    with repeatable(seed):
        return Classifier(5, encoding)


def encoding():
    return PositionalEncoding(24, dropout=0.0, max_len=8)


def test_without_an_encoding_order_changes_rounding_only():
    first, second = logits(made(), TOKENS)

    assert abs(first - second) < ROUNDING


def test_with_an_encoding_order_changes_the_answer():
    first, second = logits(made(encoding()), TOKENS)

    assert abs(first - second) > 1e6 * ROUNDING


def test_padding_changes_nothing():
    model = made(encoding())
    padded = torch.cat([TOKENS, torch.zeros(2, 3, dtype=torch.int64)], dim=1)

    assert (logits(model, TOKENS) - logits(model, padded)).abs().max() < ROUNDING


def test_the_encoding_has_nothing_to_train():
    assert parameter_count(made()) == parameter_count(made(encoding()))


def test_an_encoding_in_the_slot_is_called():
    class Loud(nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x

    model = made(Loud())
    model(TOKENS)

    assert model.encoding.calls == 1


def trained(seed):
    with repeatable(seed):
        model = Classifier(5, encoding())
        loss = fit(model, TOKENS, torch.tensor([1, 0]), steps=20, batch_size=2)
    return model, loss


def test_training_learns():
    model, loss = trained(0)

    assert loss < CHANCE / 2
    assert accuracy(logits(model, TOKENS), torch.tensor([1, 0])) == 1.0


def test_training_is_repeatable_to_the_last_bit():
    (first, _), (again, _), (other, _) = trained(1), trained(1), trained(2)

    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.answer.weight, other.answer.weight)


def test_training_reports_every_step():
    heard = []
    with repeatable(0):
        loss = fit(
            made(),
            TOKENS,
            torch.tensor([1, 0]),
            steps=3,
            on_step=lambda done, loss: heard.append((done, loss)),
        )

    assert [done for done, _ in heard] == [1, 2, 3]
    assert heard[-1][1] == loss


def test_judging_leaves_the_model_as_it_is():
    model = made().train()
    before = model.answer.weight.clone()
    answers = logits(model, TOKENS)

    assert answers.dtype == torch.float64
    assert not answers.requires_grad
    assert model.training
    assert model.answer.weight.dtype == torch.float32
    assert torch.equal(model.answer.weight, before)


def test_accuracy_counts_answers_on_the_right_side():
    assert accuracy(torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.tensor([1, 1, 0, 0])) == 0.5


def test_a_repeatable_block_gives_threads_and_random_state_back():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    with repeatable(5):
        assert torch.get_num_threads() == 1
        torch.randn(3)

    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_they_come_back_after_an_error_too():
    before, state = torch.get_num_threads(), torch.get_rng_state()
    try:
        torch.set_num_threads(2)
        with pytest.raises(RuntimeError, match="shape"), repeatable(5):
            torch.randn(3).reshape(2)

        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_seed_decides():
    draws = []
    for seed in (1, 1, 2):
        with repeatable(seed):
            draws.append(torch.randn(3))

    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])

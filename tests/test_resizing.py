"""Trained tables at another length: what each rule keeps, and that the old layer is left alone."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import posenc
from posenc import LearnedPositionalEmbedding
from posenc.errors import PosencError

RULES = ["draw", "repeat", "stretch-ends", "stretch-cells"]
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def ramp(rows, **options):
    """A layer whose row p holds p, after two rows of 100 that stand before position 0."""
    made = LearnedPositionalEmbedding(rows, 3, 0.3, position_offset=2, **options)
    with torch.no_grad():
        made.weight[:2] = 100
        made.weight[2:] = torch.arange(rows).unsqueeze(-1)
    return made


BY_HAND = [
    (4, "repeat", 6, [0, 1, 2, 3, 0, 1]),
    (4, "repeat", 9, [0, 1, 2, 3, 0, 1, 2, 3, 0]),
    (4, "repeat", 2, [0, 1]),
    (3, "stretch-ends", 5, [0, 0.5, 1, 1.5, 2]),
    (5, "stretch-ends", 3, [0, 2, 4]),
    (4, "stretch-ends", 1, [0]),
    (1, "stretch-ends", 3, [0, 0, 0]),
    (2, "stretch-cells", 4, [0, 0.25, 0.75, 1]),
    (4, "stretch-cells", 2, [0.5, 2.5]),
    (3, "stretch-cells", 3, [0, 1, 2]),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("rows", "rule", "length", "wanted"), BY_HAND)
def test_rows_by_hand(rows, rule, length, wanted, dtype):
    made = ramp(rows, dtype=dtype).resize(length, rule)

    assert made.max_len == length
    assert made.weight.shape == (length + 2, 3)
    assert made.weight.dtype == dtype
    assert made.weight[:, 1].tolist() == [100, 100, *wanted]


@pytest.mark.parametrize("init", ["normal", "fairseq"])
def test_draw_keeps_what_there_is_and_begins_the_rest(init):
    old = LearnedPositionalEmbedding(400, 64, position_offset=2, init=init)
    nn.init.ones_(old.weight)

    longer, shorter = old.resize(1000, "draw"), old.resize(10, "draw")

    assert torch.equal(longer.weight[:402], old.weight)
    assert torch.equal(shorter.weight, old.weight[:12])
    if init == "normal":
        # The deviation of 38 400 draws is off by 1 / sqrt(76 800), a third of a percent; five of these.
        assert abs(longer.weight[402:].std().item() / 0.02 - 1) < 0.018
    else:
        assert torch.equal(longer.weight[402:], posenc.table(600, 64, "fairseq", start=400))


def test_only_draw_draws():
    old = ramp(8)
    before = torch.get_rng_state()

    for rule in RULES[1:]:
        old.resize(12, rule)
    old.resize(4, "draw")

    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("rule", RULES)
def test_the_old_layer_is_left_alone(rule):
    old = ramp(8, batch_first=False).eval()
    old.weight.requires_grad_(False)
    before = old.weight.clone()

    new = old.resize(12, rule)
    new.weight.fill_(7)

    assert torch.equal(old.weight, before)
    assert old.max_len == 8
    assert isinstance(new.weight, nn.Parameter)
    assert (new.training, new.batch_first, new.dropout.p, new.weight.requires_grad) == (False, False, 0.3, False)
    assert new(torch.zeros(12, 1, 3)).shape == (12, 1, 3)


@pytest.mark.parametrize("rule", RULES)
def test_a_resized_layer_trains_saves_and_has_a_place_on_meta(rule):
    new = ramp(8).resize(12, rule)
    new(torch.zeros(1, 12, 3)).sum().backward()

    assert new.weight.is_leaf
    assert new.weight.grad.abs().sum() > 0
    LearnedPositionalEmbedding(12, 3, position_offset=2).load_state_dict(new.state_dict())
    assert LearnedPositionalEmbedding(8, 3, device="meta").resize(12, rule).weight.is_meta
    with torch.inference_mode():
        other = ramp(8).resize(12, rule)
    other(torch.zeros(1, 12, 3)).sum().backward()


def test_an_interpolation_is_rounded_once():
    old = LearnedPositionalEmbedding(7, 5, dtype=torch.float64)
    exact = old.resize(23, "stretch-ends").weight
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        narrow = LearnedPositionalEmbedding(7, 5, dtype=dtype)
        narrow.load_state_dict(old.state_dict())
        wide = LearnedPositionalEmbedding(7, 5, dtype=torch.float64)
        wide.load_state_dict(narrow.state_dict())
        got, wanted = narrow.resize(23, "stretch-ends").weight, wide.resize(23, "stretch-ends").weight

        assert (got - wanted).abs().max() <= torch.finfo(dtype).eps / 2 * wanted.abs().max()
        assert not torch.equal(wanted, exact)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, "draw"), "got max_len=0"),
        ((2.0, "draw"), "got max_len=2.0"),
        ((5, "truncate"), "got rule='truncate', but wanted 'draw' or 'repeat' or 'stretch-ends' or 'stretch-cells'"),
        (
            (5, None),
            "got no rule, but wanted 'draw' or 'repeat' or 'stretch-ends' or 'stretch-cells'; pass one, as in resize",
        ),
        ((5,), r"got no rule, .+; pass one, as in resize\(5, \"stretch-ends\"\)"),
        ((10**15, "draw"), r"got a table of shape \(1000000000000002, 3\)"),
    ],
)
def test_what_is_refused(arguments, said):
    with pytest.raises(PosencError, match=said):
        ramp(4).resize(*arguments)

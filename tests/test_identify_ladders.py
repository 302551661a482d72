"""Ladders alone, as checkpoints keep them under `inv_freq`: the base, and the rule that stretched them."""

from __future__ import annotations

import math

import pytest
import torch

from posenc import identify
from posenc.identification.ladders import looks_like_ladder

F64 = torch.float64


def plain(base, pairs, dtype=torch.float32):
    """base^(-k / pairs), computed in float64 and rounded once."""
    return torch.tensor([base ** (-k / pairs) for k in range(pairs)], dtype=F64).to(dtype)


def llama3(base, pairs, factor, trained, low=1.0, high=4.0):
    """The rule of Llama 3.1, written out from its description, pair by pair."""
    out = []
    for k in range(pairs):
        w = base ** (-k / pairs)
        turns = trained * w / (2 * math.pi)
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        out.append(w * share + w / factor * (1 - share))
    return torch.tensor(out, dtype=F64).float()


def yarn(base, pairs, factor, trained, fast=32.0, slow=1.0):
    """The rule of YaRN with whole ends, written out from the paper."""

    def pair_of(turns):
        return pairs * math.log(trained / (turns * 2 * math.pi)) / math.log(base)

    first, last = max(math.floor(pair_of(fast)), 0), min(math.ceil(pair_of(slow)), 2 * pairs - 1)
    out = []
    for k in range(pairs):
        w, kept = base ** (-k / pairs), 1 - min(max((k - first) / (last - first), 0.0), 1.0)
        out.append(w * kept + w / factor * (1 - kept))
    return torch.tensor(out, dtype=F64).float()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("base", [10000, 500000, 32000])
def test_the_base_is_read_off(base, dtype):
    best = identify(plain(base, 64, dtype))[0]

    assert (best.is_ladder, best.dim, best.convention.base) == (True, 128, base)


def test_a_base_of_many_digits_needs_more_than_16_bits():
    assert identify(plain(1234567, 64))[0].convention.base == 1234567


def test_a_ladder_that_many_share_says_that_it_hides_its_layout():
    best = identify(plain(10000, 32))[0]

    assert best.kind == "named"
    assert "does not show its layout" in best.note


@pytest.mark.parametrize("factor", [2, 8, 2.5])
def test_linear_scaling_is_told(factor):
    best = identify((plain(10000, 64, F64) / factor).float())[0]

    assert best.kind == "fitted"
    assert f"linear scaling by {factor}" in best.note
    assert best.convention.first == pytest.approx(1 / factor, rel=2.0**-22)


@pytest.mark.parametrize("factor", [2, 4])
def test_a_base_grown_by_ntk_is_told(factor):
    grown = 10000 * factor ** (64 / 63)
    best = identify(plain(grown, 64))[0]

    assert f"10000 rescaled by {factor}" in best.note


@pytest.mark.parametrize(("base", "factor", "trained"), [(500000, 8, 8192), (500000, 32, 8192), (1000000, 4, 4096)])
def test_the_rule_of_llama_3_is_told_with_its_numbers(base, factor, trained):
    best = identify(llama3(base, 64, factor, trained))[0]

    rule = best.convention.stretch
    assert (rule.kind, rule.factor, rule.trained, rule.low, rule.high) == ("llama3", factor, trained, 1, 4)
    assert best.convention.base == base


@pytest.mark.parametrize(("base", "factor", "trained"), [(10000, 16, 4096), (1000000, 4, 32768)])
def test_the_rule_of_yarn_is_told_with_its_numbers(base, factor, trained):
    best = identify(yarn(base, 64, factor, trained))[0]

    rule = best.convention.stretch
    assert (rule.kind, rule.factor, rule.trained, rule.fast, rule.slow) == ("yarn", factor, trained, 32, 1)
    assert best.convention.base == base


def test_pairs_that_stand_still_are_told():
    given = plain(1000000, 64)
    given[16:] = 0
    best = identify(given)[0]

    assert (best.convention.stretch.kind, best.convention.stretch.turning) == ("proportional", 16)


@pytest.mark.parametrize("seed", range(20))
def test_a_chance_ladder_is_unknown(seed):
    torch.manual_seed(seed)
    falling = torch.rand(64, dtype=F64).sort(descending=True).values.float()

    assert identify(falling)[0].kind == "unknown"


def test_one_frequency_moved_aside_is_unknown():
    given = llama3(500000, 64, 8, 8192)
    given[20] *= 1.01

    assert identify(given)[0].kind == "unknown"


@pytest.mark.parametrize(
    ("values", "is_one"),
    [
        ([1.0, 0.5, 0.25], True),
        ([0.25, 0.5, 1.0], True),
        ([1.0, 0.5, 0.5, 0.0], True),
        ([1.0, 1.0], False),
        ([1.0, 0.5, 0.75], False),
        ([0.5, -0.5], False),
        ([0.0, 0.0], False),
        ([1.0, math.nan], False),
        ([1.0], False),
    ],
)
def test_what_looks_like_a_ladder(values, is_one):
    assert looks_like_ladder(torch.tensor(values)) is is_one

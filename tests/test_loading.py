"""Checkpoints: tables of any length load strictly, wrong ones are refused by name, nothing is trusted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import posenc

from .test_modules import layer, snippet


def load(made, state, **options):
    result = made.load_state_dict(state, **options)
    assert not result.missing_keys
    assert not result.unexpected_keys
    assert torch.equal(
        made.pe.flatten(0, 1), posenc.table(made.max_len, made.d_model, made.convention, dtype=made.pe.dtype)
    )
    return made


@pytest.mark.parametrize("length", [1, 8, 32, 5000])
@pytest.mark.parametrize("shape", ["(L, d)", "(1, L, d)", "(L, 1, d)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_the_snippet_that_everybody_copies_loads(length, shape, dtype):
    table = snippet(16, length).to(dtype)
    table = {"(L, d)": table, "(1, L, d)": table[None], "(L, 1, d)": table[:, None]}[shape]
    before = table.clone()
    state = {"pe": table}

    for options in ({}, {"persistent": False}, {"batch_first": False}, {"dtype": torch.float64}):
        load(layer(**options), state)

    assert torch.equal(state["pe"], before)


def test_no_table_at_all_loads():
    load(layer(), {})
    load(layer(persistent=False), {})


def test_inside_a_model_under_any_prefix():
    old = nn.ModuleDict({"front": nn.Sequential(layer(max_len=100), nn.Linear(16, 4))})
    new = nn.ModuleDict({"front": nn.Sequential(layer(max_len=7), nn.Linear(16, 4))})

    assert "front.0.pe" in old.state_dict()
    new.load_state_dict(old.state_dict())
    assert torch.equal(new["front"][1].weight, old["front"][1].weight)
    assert torch.equal(new["front"][0].pe, layer(max_len=7).pe)


def test_round_trip_of_a_float64_state_with_float32_values():
    load(layer(), {"pe": snippet(16, 50).double()})


def test_assign_and_meta():
    state = {"pe": posenc.table(50, 16)}

    made = load(layer(), state, assign=True)
    assert made.pe.data_ptr() != state["pe"].data_ptr()
    made = load(layer(device="meta"), state, assign=True)
    assert torch.equal(made(torch.zeros(1, 1, 16), positions=torch.tensor([99]))[0, 0], posenc.encode(99, 16))
    made = layer(device="meta")
    made.load_state_dict(state)
    assert made.pe.is_meta


def test_values_are_kept_whatever_came_before():
    made = layer()
    made.pe.fill_(7.0)

    load(made, {})


@pytest.mark.parametrize(
    ("convention", "name"),
    [("tensor2tensor", "tensor2tensor"), ("marian", "marian"), ("musicgen", "musicgen")],
)
def test_another_convention_is_refused_by_name(convention, name):
    table = posenc.table(50, 16, convention)

    with pytest.raises(RuntimeError, match=f"wanted the table of convention 'transformer'; pass convention='{name}'"):
        layer().load_state_dict({"pe": table})
    load(layer(convention=name), {"pe": table})


def test_learned_table_is_refused():
    with pytest.raises(RuntimeError, match="no named convention explains it"):
        layer().load_state_dict({"pe": torch.randn(50, 16)})


@pytest.mark.parametrize(
    "table",
    [
        torch.full((5, 16), torch.nan),
        torch.zeros(5, 8),
        torch.zeros(16),
        torch.zeros(0, 16),
        torch.zeros(5, 16).long(),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(RuntimeError, match="got 'pe'"):
        layer().load_state_dict({"pe": table})


def test_the_limit_is_the_stated_one():
    # At position 40 the first pair has phase 40, and its frequency, 1, is exp(0): allowed are 40 * 2^-22 and
    # 2^-53, one unit just below 1 of float64.
    table = posenc.table(41, 16, dtype=torch.float64)
    for factor, passes in ((0.99, True), (1.01, False)):
        wrong = table.clone()
        wrong[40, 0] += (40 * 2.0**-22 + 2.0**-53) * factor
        if passes:
            load(layer(), {"pe": wrong})
        else:
            with pytest.raises(RuntimeError, match="got 'pe' off by"):
                layer().load_state_dict({"pe": wrong})


def test_foreign_keys_are_reported_as_ever():
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"weight"'):
        layer().load_state_dict({"weight": posenc.table(8, 16)})


def test_names_recorded_in_the_convention_are_accepted():
    load(layer(convention="openai-whisper"), {"positional_embedding": posenc.table(50, 16, "openai-whisper")})
    made = layer(convention="positional-encodings")
    load(made, {"inv_freq": 1.0 / (10000 ** (torch.arange(0, 16, 2).float() / 16))})
    with pytest.raises(RuntimeError, match="got 'inv_freq' off by"):
        made.load_state_dict({"inv_freq": 1.0 / (500 ** (torch.arange(0, 16, 2).float() / 16))})


def test_two_names_at_once_are_both_checked():
    right, wrong = posenc.table(50, 16, "openai-whisper"), torch.zeros(50, 16)
    made = layer(convention="openai-whisper")

    load(made, {"pe": right, "positional_embedding": right})
    for state in ({"pe": right, "positional_embedding": wrong}, {"pe": wrong, "positional_embedding": right}):
        with pytest.raises(RuntimeError, match="wanted the table"):
            made.load_state_dict(state)

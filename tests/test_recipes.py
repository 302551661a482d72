"""What a recipe is taken for, what it gives, and where it is refused."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.named import ready, width
from tests.strategies import INT64_MIN, encodings, few, places
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from posenc import Convention, PositionalEncoding, conventions, encode, table
from posenc.errors import ConventionError
from posenc.recipes import MEANING, RECIPES, released_ladder

RELEASED = conventions["marian"].as_released()
SNIPPET = conventions["transformer"].as_released()
# Where pairs are stretched one by one no recipe is known.
STRETCHED = ["torchtune-llama3"]


@few
@given(case=encodings(), data=st.data())
def test_a_recipe_is_near_mathematics_or_refused(case, data):
    # A recipe that left out a part of the ladder would be far away.
    convention, dim = case
    convention = dataclasses.replace(convention, position_offset=1, position_scale=0.5)
    where = data.draw(st.lists(places(convention, st.integers(-9, 9)), min_size=1, max_size=3))
    exact = encode(where, dim, convention, dtype=torch.float64)
    for recipe in RECIPES:
        try:
            released = dataclasses.replace(convention, arithmetic=recipe)
            released.plan(dim)
        except ConventionError:
            continue
        # Frequencies of at most 500 at ten positions: phases of 2^12, and 2^-22 of them.
        assert (encode(where, dim, released, dtype=torch.float64) - exact).abs().max() < 3 * 2.0**-10


def test_every_recipe_has_its_meaning():
    assert tuple(MEANING) == RECIPES
    assert all("float32" in said or "float64" in said or "the same" in said for said in MEANING.values())
    assert {convention.released_as for convention in conventions.values()} == set(RECIPES)


@pytest.mark.parametrize("name", [name for name in conventions if name not in STRETCHED])
def test_a_ladder_is_held_in_the_dtype_of_its_system(name):
    convention = ready(name).as_released()
    plan = convention.plan(width(convention))
    for block in plan.blocks:
        for ladder in block.ladders:
            made = released_ladder(ladder, plan.recipe)
            assert made.dtype == (torch.float64 if plan.recipe.startswith("float64") else torch.float32)
            assert made.shape == (ladder.pairs,)


def test_a_row_is_the_same_in_any_batch():
    rows = table(300, 64, SNIPPET)

    assert torch.equal(encode(torch.arange(300).view(3, 100), 64, SNIPPET).view(300, 64), rows)
    assert torch.equal(torch.stack([encode(p, 64, SNIPPET) for p in range(0, 300, 37)]), rows[::37])
    assert torch.equal(encode(torch.arange(300.0), 64, SNIPPET), rows)


def test_another_dtype_is_a_cast_of_what_the_system_has():
    rows = table(50, 16, SNIPPET)

    assert torch.equal(table(50, 16, SNIPPET, dtype=torch.float64), rows.double())
    assert torch.equal(table(50, 16, SNIPPET, dtype=torch.bfloat16), rows.bfloat16())
    assert torch.equal(table(50, 16, RELEASED), table(50, 16, RELEASED, dtype=torch.float64).float())
    assert not torch.equal(rows, table(50, 16))


def test_the_distance_is_dropped_for_every_int64():
    released = conventions["speechbrain-relposencxl"].as_released()

    assert torch.equal(encode([-3, INT64_MIN], 8, released), encode([3, INT64_MIN + 1], 8, released))
    assert torch.equal(encode(INT64_MIN, 8, released), encode(-float(INT64_MIN) * (1 - 2.0**-53), 8, released))


def test_a_table_is_standardised_over_the_rows_that_are_said():
    bare = table(30, 8, SNIPPET)
    short = dataclasses.replace(conventions["patchtst"], standardised_rows=30).as_released()

    assert torch.equal(table(30, 8, short), (bare - bare.mean()) / (bare.std() * 10))
    assert not torch.equal(table(30, 8, short), table(30, 8, conventions["patchtst"].as_released()))


def test_a_layer_holds_what_the_system_does():
    layer = PositionalEncoding(16, 0.0, 40, convention=SNIPPET)

    assert torch.equal(layer.pe[0], table(40, 16, SNIPPET))
    assert torch.equal(layer(torch.zeros(1, 60, 16))[0, 50:], table(10, 16, SNIPPET, start=50))


def test_without_data_there_are_shapes():
    assert encode([1, 2], 8, SNIPPET, device="meta").shape == (2, 8)
    assert table(3, 8, SNIPPET, device="meta").shape == (3, 8)


def traced():
    make_fx(lambda p: encode(p, 8, SNIPPET))(torch.arange(2))


def faked():
    with FakeTensorMode():
        encode(torch.arange(2), 8, SNIPPET)


@pytest.mark.parametrize("call", [traced, faked])
def test_other_kernels_are_refused(call):
    with pytest.raises(ConventionError, match="where its kernels were recorded"):
        call()


def test_a_recipe_may_be_chosen_for_any_convention():
    mine = Convention(base=500, layout="halves", arithmetic="recip-pow")
    where = torch.tensor([0, 3, 4095])
    angles = where.float().unsqueeze(-1) * (1 / (500 ** (torch.arange(0, 8, 2).float() / 8)))

    assert torch.equal(encode(where, 8, mine), torch.cat([angles.sin(), angles.cos()], -1))

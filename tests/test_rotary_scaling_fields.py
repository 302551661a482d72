"""Fields of scaling dictionaries that say nothing, that are missing, and that are refused."""

import re

import pytest
import torch
from tests.scalings import DYNAMIC, LLAMA3, LONGROPE, YARN, frequencies

from posenc import RotaryEmbedding, conventions, rotate
from posenc.convention.scaling import read_scaling
from posenc.errors import ConventionError

REFUSED = [
    (5, "scaling of type int, but wanted a dictionary"),
    ({"rope_type": "cubic"}, "scaling of kind 'cubic', but wanted one of default, linear, dynamic"),
    ({"rope_type": 5}, "scaling of kind '5'"),
    ({"rope_type": "linear", "type": "dynamic", "factor": 2}, "rope_type='linear' and type='dynamic', but wanted one"),
    ({"rope_type": "linear"}, "scaling without 'factor'"),
    ({"rope_type": "linear", "factor": None}, "scaling without 'factor'"),
    ({"rope_type": "linear", "factor": "2"}, "factor='2', but wanted a number above zero"),
    ({"rope_type": "linear", "factor": 0}, "factor=0"),
    ({"rope_type": "linear", "factor": 2, "beta_fast": 32}, "scaling with 'beta_fast', but wanted fields of kind 'linear'"),  # noqa: E501
    ({"factor": 2.0}, "scaling with 'factor', but wanted fields of kind 'default'"),
    ({"rope_type": "default", "mrope_interleaved": True}, "mrope_interleaved=True, but wanted false"),
    ({"mrope_interleaved": 0}, "mrope_interleaved=0, but wanted false"),
    ({"full_attention": None}, "scaling with nothing for 'full_attention', but wanted a dictionary"),
    ({"rope_type": "default", "full_attention": None}, "scaling with nothing for 'full_attention'"),
    ({"rope_type": "linear", "factor": 2, "max_position_embeddings": "x"}, "max_position_embeddings='x', but wanted a"),
    ({"rope_type": "linear", "factor": 2, "max_position_embeddings": -5}, "max_position_embeddings=-5, but wanted a"),
    ({"rope_type": "default", "max_position_embeddings": 0.5}, "max_position_embeddings=0.5, but wanted a length"),
    ({"rope_type": "linear", "factor": 0.5}, "factor=0.5, but wanted a factor of at least 1"),
    ({**LONGROPE, "factor": 0.5}, "factor=0.5, but wanted a factor of at least 1"),
    ({**LONGROPE, "factor": None}, "without 'factor' and 'max_position_embeddings', but wanted one of them"),
    ({"rope_theta": -1}, "rope_theta=-1"),
    ({"partial_rotary_factor": 1.5}, "partial_rotary_factor=1.5, but wanted a fraction of a head, at most 1"),
    ({"partial_rotary_factor": 0.4}, "a rotary width of 3 from rotary_dim=0.4"),
    ({"mrope_section": "abc"}, "mrope_section='abc'"),
    ({"mrope_section": [1, 0]}, "mrope_section=[1, 0]"),
    ({"mrope_section": [1, 1]}, "add up to 4"),
    ({"rope_type": "dynamic", "factor": 2.0}, "scaling without 'max_position_embeddings'"),
    ({**DYNAMIC, "factor": 0.5}, "factor=0.5, but wanted a factor of at least 1"),
    ({**DYNAMIC, "max_position_embeddings": 8.5}, "max_position_embeddings=8.5, but wanted a length above zero"),
    ({"rope_type": "yarn", "factor": 4.0}, "scaling without 'original_max_position_embeddings'"),
    ({**YARN, "factor": None}, "scaling without 'factor' and 'max_position_embeddings'"),
    ({**YARN, "factor": None, "max_position_embeddings": 32}, "factor=0.5, but wanted a factor of at least 1"),
    ({**YARN, "beta_fast": False}, "beta_fast=False"),
    ({**YARN, "beta_fast": -1}, "beta_fast=-1, but wanted a number above zero"),
    # B146: bounds that are swapped.
    ({**YARN, "beta_fast": 1, "beta_slow": 32}, "fast=1.0 and slow=32.0, but wanted fast above slow; swap beta_fast"),
    ({**YARN, "truncate": "no"}, "truncate='no', but wanted true or false"),
    ({**YARN, "mscale": "a"}, "mscale='a'"),
    ({**YARN, "attention_factor": 0}, "attention_factor=0"),
    ({**LLAMA3, "low_freq_factor": None}, "scaling without 'low_freq_factor'"),
    ({**LLAMA3, "low_freq_factor": 4.0, "high_freq_factor": 1.0}, "high=1.0 and low=4.0"),
    ({**LLAMA3, "original_max_position_embeddings": None}, "without 'original_max"),
    ({**LONGROPE, "short_factor": None}, "short_factor=None, but wanted a list of numbers"),
    ({**LONGROPE, "long_factor": [1.0] * 3}, "long factors for 3 pairs, but wanted 4 of them"),
    ({**LONGROPE, "long_factor": [1.0, 1.0, 1.0, "a"]}, "long=(1.0, 1.0, 1.0, 'a')"),
    ({**LONGROPE, "original_max_position_embeddings": 1}, "original_max_position_embeddings=1"),
    (
        {"full_attention": {"rope_type": "default"}, "sliding_attention": {}, "rope_theta": 1e4},
        "a dictionary for each of 'full_attention', 'sliding_attention', but wanted one dictionary: these layers differ; "  # noqa: E501, ISC004
        "build one RotaryEmbedding for each kind of layer, as with scaling['full_attention'].",
    ),
]  # fmt: skip


def test_no_scaling_is_none_and_a_field_without_a_value():
    for scaling in (None, {}, {"rope_type": "default", "factor": None, "mrope_section": None}):
        assert torch.equal(frequencies(RotaryEmbedding(8, scaling=scaling)), frequencies(RotaryEmbedding(8)))
        assert RotaryEmbedding(8, scaling=scaling).attention_factor == 1.0


@pytest.mark.parametrize("given", [YARN, LLAMA3, LONGROPE], ids=lambda given: given["rope_type"])
def test_the_only_length_is_that_of_training(given):
    # transformers fills original_max_position_embeddings in from the other, and takes no ratio beside a factor.
    trained = given["original_max_position_embeddings"]
    said = {**given, "original_max_position_embeddings": None, "max_position_embeddings": trained}
    assert read_scaling(said, 8) == read_scaling(given, 8)


def test_yarn_without_a_factor_and_one_length_changes_nothing():
    rotary = RotaryEmbedding(8, scaling={"rope_type": "yarn", "max_position_embeddings": 64})
    assert torch.equal(frequencies(rotary), frequencies(RotaryEmbedding(8)))
    assert rotary.attention_factor == 1.0


@pytest.mark.parametrize("zero", [0, 0.0, None])
def test_zero_turns_of_yarn_are_those_of_the_paper(zero):
    # transformers: `beta_fast or 32`, `beta_slow or 1`.
    plain = read_scaling({**YARN, "beta_fast": 32, "beta_slow": 1}, 8)
    assert read_scaling({**YARN, "beta_fast": zero, "beta_slow": zero}, 8) == plain


def test_sections_side_by_side_may_be_said():
    given = {"rope_type": "default", "mrope_section": [2, 2]}
    assert read_scaling({**given, "mrope_interleaved": False}, 8) == read_scaling(given, 8)


def test_a_ratio_below_one_leaves_longrope_as_it_is():
    given = {**LONGROPE, "factor": None, "max_position_embeddings": 4}
    assert RotaryEmbedding(8, scaling=given).attention_factor == 1.0


@pytest.mark.parametrize(("scaling", "text"), REFUSED)
def test_refused(scaling, text):
    with pytest.raises(ConventionError, match=re.escape(text)):
        RotaryEmbedding(8, scaling=scaling)


def test_old_names():
    assert read_scaling({**LONGROPE, "rope_type": None, "type": "su"}, 8) == read_scaling(LONGROPE, 8)
    both = {"type": "mrope", "rope_type": "default", "mrope_section": [2, 2]}
    assert RotaryEmbedding(8, scaling=both).sections == (2, 2)
    assert read_scaling({}, 8) == read_scaling({"rope_type": "default"}, 8)


def test_any_rotary_name_takes_scaling():
    x = torch.randn(1, 2, 5, 16)
    for name in ("gptj-rotary", "cohere", "gpt-neox-rotary", "timm-axial-2d"):
        rotary = RotaryEmbedding(16, name, scaling={"rope_type": "linear", "factor": 2.0})
        assert torch.equal(rotary(x * 1, x, offset=0)[0][:, :, :1], x[:, :, :1])
        axes = len(conventions[name].axes)
        places = torch.arange(5.0) / 2
        halved = rotate(x, places.unsqueeze(-1).expand(5, axes) if axes else places, name)
        assert (rotary(x, x)[0] - halved).abs().max() < 1e-6

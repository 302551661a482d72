"""The words of the explorer and their vectors: split as stated, and hashed as the published hashes are."""

import math

import pytest
import torch

from posenc.explorer import words
from posenc.explorer.sentence import split_words


def test_words_are_split_at_white_space_in_lower_case_without_punctuation():
    assert split_words("The «Dog», (well-read)\tdidn't — bite…\n") == ["the", "dog", "well-read", "didn't", "bite"]
    assert split_words("+dog$ = = °bite^") == ["dog", "bite"]
    assert split_words("नमस्ते, दुनिया! 狗咬人。") == ["नमस्ते", "दुनिया", "狗咬人"]


def test_what_a_terminal_would_obey_is_replaced():
    assert split_words("a\x1b[31mred\x9b") == ["a\ufffd[31mred\ufffd"]


# The first three are in the hash's own table of test vectors, by Fowler, Noll and Vo.
@pytest.mark.parametrize(("data", "found"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_the_fingerprint_is_fnv_1a(data, found):
    assert words._fnv1a(data) == found


# As other people's implementations of murmur3's finaliser have them: SMHasher's fmix32 of 0, 1 and 2^32 - 1.
@pytest.mark.parametrize(("value", "found"), [(0, 0), (1, 0x514E28B7), (0xFFFFFFFF, 0x81F16F39)])
def test_the_mixer_is_that_of_murmur3(value, found):
    assert words._mixed(value) == found


def test_the_mixer_keeps_values_apart():
    values = range(0, 1 << 32, 1_000_003)

    assert len({words._mixed(value) for value in values}) == len(values)


def test_a_vector_is_the_stated_one():
    # FNV-1a of "a" is 0xE40C292C; column 1 starts one stride further, modulo 2^32.
    second = (0xE40C292C + 0x9E3779B9) % 2**32

    assert words.vector("a", 2) == [
        (words._mixed(0xE40C292C) / 2**31 - 1) * math.sqrt(3),
        (words._mixed(second) / 2**31 - 1) * math.sqrt(3),
    ]


def test_words_have_unit_variance_and_are_no_kin_of_each_other():
    names = [f"word{i}" for i in range(400)]
    rows = torch.tensor([words.vector(name, 64) for name in names], dtype=torch.float64)
    count = rows.numel()

    # Even draws from [-sqrt(3), sqrt(3)): mean 0, variance 1, fourth moment 9/5. Five standard errors.
    assert rows.mean().abs() < 5 / math.sqrt(count)
    assert (rows.square().mean() - 1).abs() < 5 * math.sqrt(9 / 5 - 1) / math.sqrt(count)
    assert rows.abs().max() <= math.sqrt(3)
    # Cosines of independent rows have the standard deviation 1 / 8; the largest of 79 800 stays under 6 of them.
    unit = rows / rows.norm(dim=1, keepdim=True)
    assert ((unit @ unit.T) - torch.eye(400, dtype=torch.float64)).abs().max() < 6 / 8


@pytest.mark.parametrize("word", ["", "dog", "狗", "🐕", "שלום"])
def test_every_word_has_a_vector(word):
    assert len(set(words.vector(word, 16))) == 16

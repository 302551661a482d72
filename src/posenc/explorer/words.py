"""Gives every word a vector of its own, the same numbers here and in the page."""

from __future__ import annotations

import math

_MASK = 0xFFFFFFFF
# The golden ratio times 2^32, odd: columns start far apart.
_STRIDE = 0x9E3779B9


def vector(word: str, dim: int) -> list[float]:
    """The vector (dim,) of a word, float64: numbers drawn evenly from [-sqrt(3), sqrt(3)), so of variance one.

    Nothing is trained and nothing is stored: the numbers are hashed out of the word's own letters, as
    `sentence.split_words` gives them. A word has the same vector wherever it stands, and another word another.

    Law: column j is (z / 2^31 - 1) sqrt(3), where z is murmur3's finaliser of (h + j * 0x9E3779B9) mod 2^32 and h
    is FNV-1a, 32 bits, of the word's UTF-8. All integers until the last step, so that every language agrees.

    >>> vector("dog", 2) == vector("dog", 4)[:2]
    True
    """
    start = _fnv1a(word.encode())
    return [(_mixed((start + j * _STRIDE) & _MASK) / 2**31 - 1) * math.sqrt(3) for j in range(dim)]


def _fnv1a(data: bytes) -> int:
    """Fowler, Noll and Vo's hash, variant 1a, of 32 bits."""
    found = 0x811C9DC5
    for byte in data:
        found = (found ^ byte) * 0x01000193 & _MASK
    return found


def _mixed(z: int) -> int:
    """Appleby's finaliser of murmur3, of 32 bits: every bit of the input moves every bit of the output."""
    z ^= z >> 16
    z = z * 0x85EBCA6B & _MASK
    z ^= z >> 13
    z = z * 0xC2B2AE35 & _MASK
    return z ^ z >> 16

"""Splits a text into words, by the one rule that the page and the tour share."""

from __future__ import annotations

import unicodedata

RULE = "a word is what stands between white space, in lower case, without punctuation at its ends"


def split_words(text: str) -> list[str]:
    """The words of a text: split at white space, lower case, punctuation and symbols at the ends dropped.

    What is nothing but punctuation and symbols is no word. What cannot be printed, such as a terminal's escape
    character, becomes U+FFFD. The page has the same rule in JavaScript.

    >>> split_words('"Man bites dog," said the well-read porter.')
    ['man', 'bites', 'dog', 'said', 'the', 'well-read', 'porter']
    """
    words = (_without_punctuation(chunk) for chunk in text.lower().split())
    return [printable(word) for word in words if word]


def printable(text: str) -> str:
    """The text with U+FFFD for every character that a terminal might obey instead of show."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _without_punctuation(chunk: str) -> str:
    start, end = 0, len(chunk)
    while start < end and _is_punctuation(chunk[start]):
        start += 1
    while end > start and _is_punctuation(chunk[end - 1]):
        end -= 1
    return chunk[start:end]


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"

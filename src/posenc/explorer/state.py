"""What the page may be told to show first: the keys of its state, and the values that they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import refuse

# As the page's own: it would fall back on what it shows anyway, and a reader would look at something else than asked.
RANGES = {"dim": (2, 512), "length": (2, 8192), "position": (0, 8191), "dimension": (0, 511), "offset": (-256, 256)}
CHOICES = {
    "convention": ("transformer", "marian", "tensor2tensor", "fairseq", "openai-whisper", "musicgen"),
    "break": (
        "none",
        "no-cosines",
        "swapped-axes",
        "base-1",
        "base-10",
        "odd-width",
        "bfloat16-positions",
        "float16-positions",
        "bfloat16-values",
        "halves",
        "max-len",
    ),
    "colours": ("cividis", "red-blue"),
}
# What the page has where nothing is said.
SIZES = {"dim": 64, "length": 64}
BASES = (1, 1e12)
LONGEST_SENTENCE = 8000
STATE = ("sentences", "base", *RANGES, *CHOICES)


def check_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state as it came, or `InputError` where the page does not know a key or could not show a value.

    `sentences` are two strings; `dim` is even; `position` and `dimension` name a cell inside `length` and `dim`;
    `offset` is a distance, either way.

    >>> check_state({"dim": 32})
    {'dim': 32}
    """
    for key, value in state.items():
        if key in RANGES:
            _check_whole(key, value)
        elif key in CHOICES:
            _check_choice(key, value)
        elif key == "base":
            _check_base(value)
        elif key == "sentences":
            _check_sentences(value)
        else:
            refuse(f"state key {key!r}", f"one of {', '.join(STATE)}", "remove it")
    sizes = {**SIZES, **state}
    for inner, outer in (("position", "length"), ("dimension", "dim")):
        if inner in state and state[inner] >= sizes[outer]:
            refuse(f"{inner}={state[inner]}", f"less than {outer}={sizes[outer]}", f"pass a larger {outer} too")
    return dict(state)


def _check_whole(key: str, value: Any) -> None:
    lowest, highest = RANGES[key]
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        refuse(f"{key}={value!r}", f"a whole number from {lowest} to {highest}", "pass one that the page can show")
    if key == "dim" and value % 2:
        refuse(f"dim={value}", "an even width", "pairs are whole; `posenc table` writes odd widths too")


def _check_choice(key: str, value: Any) -> None:
    if value not in CHOICES[key]:
        name = value.replace("_", "-") if isinstance(value, str) else value
        fix = f"did you mean {name!r}?" if name in CHOICES[key] else "choose one of these"
        refuse(f"{key}={value!r}", " or ".join(map(repr, CHOICES[key])), fix)


def _check_base(value: Any) -> None:
    low, high = BASES
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        refuse(f"base={value!r}", f"a number from {low} to {high:.0f}", "leave it out for 10000")


def _check_sentences(value: Any) -> None:
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(isinstance(each, str) for each in value):
        refuse(f"sentences={value!r}", "two strings", 'as in ["man bites dog", "dog bites man"]')
    for sentence in value:
        # As the page counts them: a character beyond the first 65 536 is two.
        characters = len(sentence.encode("utf-16-le", "surrogatepass")) // 2
        if characters > LONGEST_SENTENCE:
            refuse(f"a sentence of {characters} characters", f"at most {LONGEST_SENTENCE}", "cut it")

"""Reads the words of a text file, as many as the tour needs and no more."""

from __future__ import annotations

import codecs
import sys
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Literal, NoReturn

from ..errors import FileError, InputError, refuse
from ..explorer.sentence import RULE, printable, split_words

MOST_BYTES = 65_536
MOST_WORDS = 2_048
STORY = "order.txt"


@dataclass(frozen=True)
class Text:
    """The first words of a file; `part` is "all" where the file has no more, else "start"."""

    name: str
    words: tuple[str, ...]
    part: Literal["all", "start"]
    source: Literal["file", "story"] = "file"


def read_text(path: str | Path | None = None) -> Text:
    """The first words of a UTF-8 file, at most 2048; None is the story that comes with posenc.

    "-" is the standard input. At most 64 KiB are read, however large the file.

    Raises:
        FileError: no such file, not readable, a directory, empty, not UTF-8 text, under two words.

    >>> read_text().words[:5]
    ('the', 'librarian', 'of', 'small', 'words')
    """
    if path is None:
        story = resources.files("posenc") / "data" / STORY
        return replace(_parse(STORY, story.read_bytes()), source="story")
    # One byte more than is used tells whether the file goes on.
    return _parse(printable(str(path)), _read(path, MOST_BYTES + 1))


def check_sentence(sentence: str) -> list[str]:
    """The words of a sentence that somebody typed; refused where there is no order to see."""
    words = split_words(sentence)
    if not 2 <= len(words) <= MOST_WORDS:
        refuse(
            f"a sentence of {len(words)} word{'' if len(words) == 1 else 's'}",
            f"2 to {MOST_WORDS} words",
            'pass two sentences, as in --sentences "man bites dog" "dog bites man"',
            error=InputError,
        )
    return words


def _read(path: str | Path, size: int) -> bytes:
    try:
        if str(path) == "-":
            if sys.stdin is None:
                _refuse("-", "a closed standard input", "pipe a text into it, or name a file")
            return sys.stdin.buffer.read(size)
        if Path(path).is_dir():
            _refuse(str(path), "a folder", "pass a text file in it")
        with Path(path).open("rb") as file:
            return file.read(size)
    except FileError:
        raise
    except FileNotFoundError:
        _refuse(str(path), "no such file", "check the path, or leave it out for the story in posenc")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        _refuse(str(path), reason.lower(), "pass a file that you may read")


def _parse(name: str, data: bytes) -> Text:
    if not data:
        _refuse(name, "an empty file", "pass a file with at least two words")
    is_whole = len(data) <= MOST_BYTES
    data = data[:MOST_BYTES]
    if b"\0" in data:
        _refuse(
            name,
            f"binary data (a NUL at byte {data.index(0)})",
            "pass plain text; a UTF-16 file has to be saved as UTF-8 first",
        )
    try:
        # A character that is cut at the end of the part that was read is no error.
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        text = decoder.decode(data, final=is_whole)
    except UnicodeDecodeError as error:
        _refuse(name, f"bytes that are not UTF-8 (at byte {error.start})", "save the file as UTF-8")
    words = split_words(text)
    if not is_whole and not text[-1:].isspace():
        words = words[:-1]  # it may have been cut
    if len(words) < 2:
        got = f"{len(words)} word{'' if len(words) == 1 else 's'}"
        where = "" if is_whole else " in the part that is read, its first 64 KiB"
        _refuse(name, got + where, RULE, wanted="a text of at least two words")
    fits = is_whole and len(words) <= MOST_WORDS
    return Text(name, tuple(words[:MOST_WORDS]), "all" if fits else "start")


def _refuse(name: str, got: str, fix: str, *, wanted: str = "a UTF-8 text file") -> NoReturn:
    refuse(f"{printable(name)}: {got}", wanted, fix, error=FileError)

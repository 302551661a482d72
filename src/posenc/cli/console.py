"""Where the command line prints, in what dress, and how it ends."""

from __future__ import annotations

import json
import os
import sys
from enum import IntEnum
from typing import IO, Any

from rich.console import Console

from ..errors import FileError, PosencError


class Exit(IntEnum):
    """What the number means that a command leaves behind."""

    SOUND = 0
    BAD_NEWS = 1  # a check failed, a value was misrounded, nothing was identified
    USAGE = 2
    UNREADABLE = 3


def wants_colour(stream: IO[str]) -> bool:
    """Whether the stream is a terminal whose owner has not asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def out() -> Console:
    """The console of results, on stdout."""
    return _console(sys.stdout)


def err() -> Console:
    """The console of progress and notes, on stderr."""
    return _console(sys.stderr)


def _console(stream: IO[str]) -> Console:
    plain = not wants_colour(stream)
    # What is written was laid out by hand: rich adds colour, and neither guesses nor wraps.
    return Console(file=stream, highlight=False, markup=False, soft_wrap=True, no_color=plain)


def print_json(document: dict[str, Any]) -> None:
    """The one JSON document of a command, on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def fail(error: PosencError) -> Exit:
    """Say in one line what was wrong, and return the exit code that stands for it."""
    sys.stderr.write(f"posenc: {error}\n")
    return Exit.UNREADABLE if isinstance(error, FileError) else Exit.USAGE

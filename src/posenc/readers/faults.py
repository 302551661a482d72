"""Turns every fault of a file into one kind of error, which names the file as it was given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ..errors import FileError, refuse

WANTED = "a safetensors, torch.save, npy or npz file, the index of a sharded checkpoint, or a folder of these"
AGAIN = "fetch or write it again"


def deny(path: str, reason: str, wanted: str = WANTED, fix: str = AGAIN) -> NoReturn:
    """Refuse a file; repr keeps the control characters of a name away from the terminal."""
    refuse(f"{path!r}, {reason}", wanted, fix, error=FileError)


@contextmanager
def guarded(path: str, about: str = "which") -> Iterator[None]:
    """Let no other error than `FileError` out; `about` begins the relative clause, as in "whose entry 'pe'"."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        deny(path, f"{about} cannot be read ({reason})", "a file that can be read", "check its name and permissions")
    except EOFError:
        deny(path, f"{about} claims more than the file holds", "a whole file", AGAIN)
    # The parsers below meet bytes that were made to break them, and break in ways that nobody lists.
    except Exception as error:  # noqa: BLE001
        if isinstance(error, MemoryError) or "allocate" in str(error):
            fix = "read its rows in parts, or use a larger machine"
            deny(path, f"{about} needs more memory than there is", "one that fits into memory", fix)
        kind = type(error).__name__
        # zlib and struct both call theirs "error".
        kind = f"{type(error).__module__}.{kind}" if kind == "error" else kind
        deny(path, f"{about} is damaged ({kind})", "a sound file")

"""The error classes, and the one way to refuse an input: what came, what was wanted, what to do."""

from __future__ import annotations

from typing import NoReturn


class PosencError(Exception):
    """Every error that this library raises on purpose."""


class InputError(PosencError, ValueError):
    """A value, a shape or a device that cannot be used."""


class DtypeError(PosencError, TypeError):
    """A type or dtype that cannot be used."""


class ConventionError(PosencError, ValueError):
    """A convention that does not exist, contradicts itself or does not fit the width."""


class UnknownConventionError(ConventionError, KeyError):
    """A name that no convention has; also a `KeyError`, since `conventions` is a mapping."""

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0])


class FileError(PosencError, OSError):
    """A file that cannot be read, or is not what it should be."""


def refuse(got: str, wanted: str, fix: str, *, error: type[PosencError] = InputError) -> NoReturn:
    """Raise `error` with the three parts that every message of this library has.

    >>> refuse("dim=0", "a positive integer", "pass the width, as in dim=512")
    Traceback (most recent call last):
    posenc.errors.InputError: got dim=0, but wanted a positive integer; pass the width, as in dim=512.
    """
    raise error(f"got {got}, but wanted {wanted}; {fix}.")

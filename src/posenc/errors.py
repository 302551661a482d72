"""The error classes, and the one way to refuse an input: what came, what was wanted, what to do."""

from __future__ import annotations

from typing import Any, NoReturn

# Bits: longer ints tell a reader nothing, and Python refuses to write very long ones.
_LONGEST = 256


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


def shown(value: Any) -> str:
    """A value as messages write it, whatever its size: a long int by the number of its bits.

    >>> shown("x"), shown(10**400)
    ("'x'", 'an int of 1329 bits')
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)


def refuse(got: str, wanted: str, fix: str, *, error: type[PosencError] = InputError) -> NoReturn:
    """Raise `error` with the three parts that every message of this library has.

    >>> refuse("dim=0", "a positive integer", "pass the width, as in dim=512")
    Traceback (most recent call last):
    posenc.errors.InputError: got dim=0, but wanted a positive integer; pass the width, as in dim=512.
    """
    raise error(f"got {got}, but wanted {wanted}; {fix}.")

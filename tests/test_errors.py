"""The error classes, and the one form of every message."""

import copy
import pickle

import pytest

from posenc import errors
from posenc.errors import (
    ConventionError,
    DtypeError,
    FileError,
    InputError,
    PosencError,
    UnknownConventionError,
    refuse,
)

BUILT_IN = {
    InputError: ValueError,
    DtypeError: TypeError,
    ConventionError: ValueError,
    UnknownConventionError: KeyError,
    FileError: OSError,
}
CLASSES = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}


def test_every_class_is_known_here():
    assert {PosencError, *BUILT_IN} == CLASSES


@pytest.mark.parametrize(("kind", "built_in"), BUILT_IN.items())
def test_both_nets_catch(kind, built_in):
    for net in (PosencError, built_in):
        with pytest.raises(net):
            refuse("a", "b", "c", error=kind)


@pytest.mark.parametrize("kind", [PosencError, *BUILT_IN])
def test_the_message_has_three_parts(kind):
    with pytest.raises(kind) as caught:
        refuse("this", "that", "do so", error=kind)

    assert str(caught.value) == "got this, but wanted that; do so."


def test_a_value_is_refused_by_default():
    with pytest.raises(InputError):
        refuse("this", "that", "do so")


def test_an_unknown_convention_is_a_convention_error():
    assert issubclass(UnknownConventionError, ConventionError)


@pytest.mark.parametrize("kind", [PosencError, *BUILT_IN])
@pytest.mark.parametrize("carry", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_survives_the_way_between_processes(kind, carry):
    error = carry(kind("got this, but wanted that; do so."))

    assert type(error) is kind
    assert str(error) == "got this, but wanted that; do so."

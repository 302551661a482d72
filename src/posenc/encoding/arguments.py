"""What callers pass, checked and brought into one form before anything is computed."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from ..arguments.numbers import as_index
from ..arguments.tensors import check_dense
from ..errors import DtypeError, InputError, refuse, shown
from ..tracing import is_plain, is_wrapped
from ..trig.rounding import FORMATS

# Tensors, numbers, (nested) sequences and arrays of them.
PositionsLike: TypeAlias = Any

# Device types without float64: there values are computed on the CPU and moved.
WITHOUT_FLOAT64 = {"mps"}

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
# From this magnitude on a number may be a neighbour that was rounded: 257 becomes 256 in bfloat16.
MERGED_FROM = {torch.float16: 2048, torch.bfloat16: 256}
_INTEGERS = {getattr(torch, name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
_WANTED_POSITIONS = "integers of any dtype but bool and uint64, or finite floats"


def uncast(name: str, wanted: str = "int64") -> str:
    """What to do about floats in the place of integers: a cast back finds only what the first cast has left.

    >>> uncast("positions")
    'make positions int64 before any cast'
    """
    return f"make {name} {wanted} before any cast"


def is_readable(tensor: Tensor) -> bool:
    """Whether values may be looked at on the host: a plain CPU tensor in eager mode, outside torch.func."""
    return (
        tensor.device.type == "cpu"
        and is_plain()
        and type(tensor) in (Tensor, torch.nn.Parameter)
        and not is_wrapped(tensor)
    )


def is_followed(tensor: Tensor) -> bool:
    """Whether a derivative with respect to this tensor is being taken, in reverse or in forward mode."""
    if not tensor.is_floating_point():
        return False
    return (tensor.requires_grad and torch.is_grad_enabled()) or unpack_dual(tensor).tangent is not None


def with_float64(tensor: Tensor) -> Tensor:
    """The tensor where float64 exists: itself, or its copy on the CPU."""
    return tensor.cpu() if tensor.device.type in WITHOUT_FLOAT64 else tensor


def check_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """One of the four dtypes that values are rounded to; None is torch's default."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or dtype not in FORMATS:
        fix = "cast the result yourself" if isinstance(dtype, torch.dtype) else "pass it as in torch.float32"
        refuse(f"dtype={shown(dtype)}", "torch's float64, float32, bfloat16 or float16", fix, error=DtypeError)
    return dtype


def check_int(value: Any, name: str, low: int, high: int, fix: str) -> int:
    """`value` as an int within [low, high]."""
    number = as_index(value)
    if number is None:
        refuse(f"{name}={shown(value)} of type {type(value).__name__}", "an int", fix, error=DtypeError)
    if not low <= number <= high:
        wanted = f"an int from {low} to {high}" if low != 0 or high != INT64_MAX else "an int that is not negative"
        refuse(f"{name}={shown(number)}", wanted, fix)
    return number


def _leaves(numbers: Any) -> list[Any]:
    """What nested lists and tuples hold."""
    found: list[Any] = []
    for each in numbers:
        if isinstance(each, (list, tuple)):
            found += _leaves(each)
        else:
            found.append(each)
    return found


def _check_leaves(positions: Any, name: str) -> None:
    """Refuse what torch would change in silence where it makes one tensor of many numbers."""
    leaves = _leaves(positions)
    kinds = set(map(type, leaves))
    # Long lists are of one kind as a rule, and no number of theirs is looked at twice.
    whole: list[int] = [min(leaves), max(leaves)] if kinds == {int} else []
    floats = False
    for each in leaves if kinds - {int} and kinds - {float} else ():
        number = as_index(each)
        if isinstance(each, bool):
            refuse(f"{name} with {each} in a list", _WANTED_POSITIONS, "pass 0 or 1", error=DtypeError)
        elif number is not None:
            whole.append(number)
        elif hasattr(each, "dtype") and not isinstance(each, float):
            held = as_positions(each, name)
            floats |= held.is_floating_point()
            whole += [] if held.is_floating_point() else held.flatten().tolist()
        else:
            floats = True
    for number in whole:
        if not INT64_MIN <= number <= INT64_MAX:
            refuse(f"{name} with {shown(number)}", "numbers within int64", "subtract a common offset first")
        # One float makes all of them float64, which holds every integer up to 2^53 and few beyond.
        if floats and int(float(number)) != number:
            refuse(
                f"{name} with {number} beside floats",
                "integers that float64 holds, where one position is a float",
                "pass the integers and the floats in two calls",
            )


def _from_numbers(positions: Any, name: str) -> Tensor:
    """A tensor on the CPU of anything that is none: int64 where all are integers, else float64."""
    if isinstance(positions, bool):
        refuse(f"{name} of {positions!r}", _WANTED_POSITIONS, "pass 0 or 1", error=DtypeError)
    if isinstance(positions, int):
        if not INT64_MIN <= positions <= INT64_MAX:
            refuse(f"{name} of {shown(positions)}", "a number within int64", "subtract a common offset first")
        return torch.tensor(positions, dtype=torch.int64, device="cpu")
    if hasattr(positions, "__array__") and not isinstance(positions, (int, float)):
        # A copy: torch takes no reversed arrays, and warns of read-only ones.
        import numpy as np

        positions = np.array(positions)
    if isinstance(positions, (list, tuple)):
        _check_leaves(positions, name)
    try:
        tensor = torch.as_tensor(positions, device="cpu")
        # Lists of floats would come as float32, which cannot tell 16777216 from 16777217.
        if tensor.is_floating_point() and not hasattr(positions, "dtype"):
            tensor = torch.as_tensor(positions, dtype=torch.float64, device="cpu")
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        refuse(
            f"{name} of type {type(positions).__name__} ({str(error).splitlines()[0]})",
            _WANTED_POSITIONS,
            "pass a tensor, a number or a list of numbers",
            error=DtypeError,
        )
    return tensor


def as_positions(positions: PositionsLike, name: str = "positions") -> Tensor:
    """Positions of any kind -> an int64 or float64 tensor of the same shape, on a device that has float64.

    Values are looked at only where that costs nothing: on the CPU, in eager mode.
    """
    tensor = with_float64(positions) if isinstance(positions, Tensor) else _from_numbers(positions, name)
    check_dense(tensor, name)
    if tensor.dtype in _INTEGERS:
        return tensor.to(torch.int64)
    if tensor.dtype not in FORMATS:
        refuse(f"{name} of {tensor.dtype}", _WANTED_POSITIONS, _fix_of(tensor, name), error=DtypeError)
    if is_followed(tensor):
        refuse(f"{name} that require a gradient", "constants", f"pass {name}.detach()", error=InputError)
    if is_readable(tensor) and tensor.numel():
        _check_values(tensor, name)
    return tensor.double()


def _fix_of(tensor: Tensor, name: str) -> str:
    """What to do about positions of a dtype that is not taken."""
    if tensor.is_floating_point():
        return uncast(name, "int64 or float32")
    if tensor.is_complex():
        return f"pass {name}.real"
    return "cast them with .long()" if tensor.dtype != torch.uint64 else "cast them with .long() where they fit"


def _check_values(tensor: Tensor, name: str) -> None:
    top = tensor.detach().abs().max().item()  # NaN wins
    if not math.isfinite(top):
        refuse(
            f"{name} with a value that is NaN or infinite",
            "finite numbers",
            "mask or drop those positions first",
        )
    if top >= 2.0**63:
        refuse(f"{name} up to {top:g}", "magnitudes below 2^63", "subtract a common offset first")
    limit = MERGED_FROM.get(tensor.dtype)
    if limit is not None and top >= limit:
        refuse(
            f"{name} of {tensor.dtype} up to {top:g}",
            f"magnitudes below {limit}, since {limit} may be {limit + 1} that was rounded",
            uncast(name, "int64 or float32"),
        )

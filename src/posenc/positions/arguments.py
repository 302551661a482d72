"""What the makers of positions are given, checked and brought into one form."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..arguments.devices import check_device, default_device
from ..arguments.memory import made
from ..arguments.tensors import check_dense
from ..encoding.arguments import INT64_MAX, INT64_MIN, check_int, uncast
from ..errors import DtypeError, refuse, shown
from ..tracing import in_graph

INTEGERS = {getattr(torch, name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """One of the literal strings of an option."""
    if not isinstance(value, str) or value not in choices:
        refuse(f"{name}={shown(value)}", " or ".join(repr(choice) for choice in choices), "choose one of these")


def check_count(value: Any, name: str, low: int, high: int, fix: str) -> int:
    """`value` as an int within [low, high]; in a graph whose sizes are open, the size as it is."""
    if torch.compiler.is_compiling() and isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
        # Symbolic: what its value may be is for the guards to say.
        return value  # type: ignore[return-value]
    if isinstance(value, Tensor) and in_graph():
        # In a trace of TorchScript sizes are tensors.
        return value  # type: ignore[return-value]
    return check_int(value, name, low, high, fix)


def check_length(value: Any, name: str = "length") -> int:
    """A number of tokens."""
    return check_count(value, name, 0, INT64_MAX, "pass the number of tokens, as in x.shape[1]")


def as_integers(value: Any, name: str) -> Tensor:
    """A tensor, number, (nested) sequence or array of integers -> int64, on its device."""
    if not isinstance(value, Tensor):
        value = _from_numbers(value, name)
    if value.dtype not in INTEGERS:
        fix = uncast(name) if value.is_floating_point() else f"pass {name} as int64"
        refuse(f"{name} of {value.dtype}", "integers", fix, error=DtypeError)
    check_dense(value, name)
    whole: Tensor = value.to(torch.int64)
    return whole


def _from_numbers(value: Any, name: str) -> Tensor:
    try:
        if hasattr(value, "__array__"):
            # A copy: torch takes no reversed arrays, and warns of read-only ones.
            import numpy as np

            value = np.array(value)
        tensor = torch.as_tensor(value, device="cpu")
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        said = str(error).splitlines()[0][:100]
        fix = "pass a tensor, or a list of ints"
        refuse(f"{name} of type {type(value).__name__} ({said})", "integers within int64", fix, error=DtypeError)
    # An empty list comes as float32.
    return tensor if tensor.numel() else tensor.to(torch.int64)


def check_place(device: torch.device | str | None) -> torch.device:
    """The device of a result that no tensor decides."""
    return default_device() if device is None else check_device(device)


def numbers(length: int, device: torch.device, start: int = 0) -> Tensor:
    """start, start + 1, ... (length,) int64."""
    if torch.compiler.is_compiling():
        return torch.arange(length, dtype=torch.int64, device=device) + start
    if not INT64_MIN <= start <= INT64_MAX - max(length - 1, 0):
        refuse(
            f"{length} positions from {start} on",
            "positions within int64",
            "pass a smaller offset or length",
        )
    # The end may be no int64.
    return made(
        lambda: torch.arange(length, dtype=torch.int64, device=device).add_(start),
        (length,),
        torch.int64,
        device,
        "positions",
        "pass a smaller length",
    )

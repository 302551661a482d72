"""Devices: whether torch can make tensors on them here, and where it makes them by default."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from ..errors import refuse, shown

# What torch raises where a device is missing: a build without CUDA asserts, one without a plug-in fails to import it.
NO_DEVICE = (RuntimeError, AssertionError, ImportError)
# They are in every build.
_ALWAYS = {"cpu", "meta"}


def first_line(error: BaseException) -> str:
    """The beginning of what torch says, as a part of a message of ours."""
    return (str(error) or type(error).__name__).splitlines()[0][:100]


def check_device(device: Any) -> torch.device:
    """A device, refused where torch cannot make a tensor on it: unknown, not in this build, or not in this machine.

    >>> check_device("cpu")
    device(type='cpu')
    """
    try:
        known = torch.device(device)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        refuse(f"device={shown(device)} ({first_line(error)})", "a device of torch", 'pass "cpu" or "cuda"')
    # A graph is made for the machine that runs it, and torch reports what is missing there.
    if known.type not in _ALWAYS and not torch.compiler.is_compiling():
        refuse_missing(known)
    return known


def default_device() -> torch.device:
    """Where torch makes tensors, asked in a way that compilers can follow."""
    if torch.compiler.is_compiling():
        return torch.empty(0).device
    try:
        return torch.empty(0).device
    except NO_DEVICE as error:
        _refuse(None, first_line(error))


def refuse_missing(device: torch.device | None) -> None:
    """Refuse a device on which torch cannot make a tensor; None is torch's default."""
    try:
        torch.empty(0, device=device)
    except NO_DEVICE as error:
        _refuse(device, first_line(error))


def _name_of_default() -> str:
    try:
        return f", {torch.get_default_device()}"
    except NO_DEVICE:
        # Without an index torch asks the device itself for one.
        return ""


def _refuse(device: torch.device | None, said: str) -> NoReturn:
    if device is None:
        got, fix = f"torch's default device{_name_of_default()}", 'call torch.set_default_device("cpu")'
    else:
        got, fix = f"device={str(device)!r}", 'pass device="cpu"'
    refuse(
        f"{got} ({said})", "a device of this machine and of this build of torch", f"{fix}, or install what is missing"
    )

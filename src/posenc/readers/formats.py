"""Tells what a file is from its first bytes, never from its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ..errors import FileError
from .entry import Entry
from .faults import WANTED, deny, guarded
from .files import File
from .numpy_file import NPY_MAGIC, read_npy, read_npz
from .safetensors_file import is_safetensors, read_safetensors
from .torch_file import STATE_ONLY, is_legacy, is_pickle, read_archive, read_legacy, refuse_script
from .zip_file import ZIP_MAGIC, first_member, flavour, members

Reader = Callable[[], list[Entry]]

_HEAD = 512
_FETCH = "fetch the file itself, as in git lfs pull"
_CONVERT = "convert it to one of these"
_STRANGERS = {
    b"version https://git-lfs": ("a pointer of Git LFS", _FETCH),
    b"\x89HDF": ("an HDF5 file", _CONVERT),
    b"GGUF": ("a GGUF file", _CONVERT),
    b"\x1f\x8b": ("packed by gzip", "unpack it"),
}


def reader_of(file: File) -> Reader | None:
    """What lists the entries of this file, or None where its content is none of the formats."""
    head = _head(file)
    if head.startswith(NPY_MAGIC):
        return partial(read_npy, file)
    if is_safetensors(head):
        return partial(read_safetensors, file)
    if is_legacy(head):
        return partial(read_legacy, file)
    return _zip_reader(file, head) if head.startswith(ZIP_MAGIC) else None


def refuse_stranger(file: File) -> NoReturn:
    """Say what a file is that no reader here takes."""
    head = _head(file)
    if not head:
        deny(file.path, "which is empty", WANTED)
    if is_pickle(head):
        deny(file.path, "which is a pickle and may hold code, and was not read", WANTED, STATE_ONLY)
    for magic, (what, fix) in _STRANGERS.items():
        if head.startswith(magic):
            deny(file.path, f"which is {what}", WANTED, fix)
    deny(file.path, "whose content is none that is read here", WANTED, "check that it is whole, and the right one")


def _head(file: File) -> bytes:
    with guarded(file.path), file.open() as raw:
        return raw.read(_HEAD)


def _zip_reader(file: File, head: bytes) -> Reader | None:
    try:
        infos = members(file)
    except FileError:
        # Many things are zip archives; a broken one is ours where its first member is.
        if first_member(head).endswith((".npy", "/data.pkl")):
            raise
        return None
    kind = flavour([info.filename for info in infos])
    if kind == "torchscript":
        return partial(refuse_script, file)
    readers = {"npz": read_npz, "torch": read_archive}
    return partial(readers[kind], file, infos) if kind else None

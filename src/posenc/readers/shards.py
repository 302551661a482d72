"""Follows the index of a sharded checkpoint, or a folder, to the files that hold the tensors."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from ..errors import FileError
from .entry import Entry
from .faults import WANTED, deny, guarded
from .files import HEADER, File, status
from .formats import reader_of, refuse_stranger

_KEY = b'"weight_map"'
# A file that is called so and is nothing of the kind is damaged, not of another kind.
_CALLED = (".safetensors", ".npy", ".npz", ".pt", ".pth")


def read_path(path: str) -> Iterator[Entry]:
    """The entries of a file, of the shards that an index names, or of the files in a folder."""
    listed = list_path(path)
    # A file alone is looked at before anything is asked of it.
    return iter(_read(File.at(path))) if listed == [path] else _in_files(listed)


def list_path(path: str) -> list[str]:
    """A file, the shards that an index names, or the files in a folder that are read; broken ones are among them."""
    if stat.S_ISDIR(status(path).st_mode):
        return _folder(path)
    shards = _shards(File.at(path))
    return [path] if shards is None else shards


def _read(file: File) -> list[Entry]:
    reader = reader_of(file)
    return refuse_stranger(file) if reader is None else reader()


def _in_files(paths: list[str]) -> Iterator[Entry]:
    for path in paths:
        yield from _read(File.at(path))


def _folder(path: str) -> list[str]:
    """Shards of indexes first, so that a missing one is missed; then each file of a format, or called like one."""
    listed: dict[str, None] = {}
    others = []
    for name in _names(path, levels=2):
        # What cannot be looked at is listed, and refused when it is read.
        with suppress(FileError):
            shards = _shards(File.at(name))
            if shards is not None:
                listed.update(dict.fromkeys(shards))
                continue
            if reader_of(File.at(name)) is None and not name.endswith(_CALLED):
                continue
        others.append(name)
    found = [*listed, *(name for name in others if name not in listed)]
    if not found:
        deny(path, "which is a folder without a file that is read here", WANTED, "name another folder, or a file")
    return found


def _names(path: str, levels: int) -> list[str]:
    """The regular files in a folder and the folders in it, by name; pipes and devices are no checkpoints."""
    with guarded(path), os.scandir(path) as scan:
        below = sorted(os.path.join(path, found.name) for found in scan)  # noqa: PTH118  # names as given
    names = []
    for name in below:
        try:
            mode = status(name).st_mode
        except FileError:
            # A link to nothing, which is missed when it is read.
            names.append(name)
            continue
        if stat.S_ISREG(mode):
            names.append(name)
        elif stat.S_ISDIR(mode) and levels > 1:
            with suppress(FileError):
                names += _names(name, levels - 1)
                continue
            names.append(name)
    return names


def _shards(file: File) -> list[str] | None:
    """The files that an index names, each once; None where the file is no index."""
    if file.size > HEADER:
        return None
    with guarded(file.path), file.open() as raw:
        text = raw.read(1)
        text = text + raw.read(file.size) if text == b"{" else b""
        if _KEY not in text:
            return None
        index = json.loads(text)
        if not isinstance(index, dict) or not isinstance(index.get("weight_map"), dict):
            return None
        shards = dict.fromkeys(index["weight_map"].values())
        folder = os.path.dirname(file.path)  # noqa: PTH120  # as above
        for shard in shards:
            if not isinstance(shard, str) or shard in {"", ".", ".."} or set(shard) & set("/\\\0"):
                deny(file.path, f"which names the shard {shard!r}", "the names of files beside it")
        return [os.path.join(folder, shard) for shard in shards]  # noqa: PTH118  # as above

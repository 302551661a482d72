"""Follows the index of a sharded checkpoint, or a folder, to the files that hold the tensors."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator

from .entry import Entry
from .faults import WANTED, deny, guarded
from .files import HEADER, File, status
from .formats import reader_of, refuse_stranger

_KEY = b'"weight_map"'


def read_path(path: str) -> Iterator[Entry]:
    """The entries of a file, of the shards that an index names, or of the files in a folder."""
    if stat.S_ISDIR(status(path).st_mode):
        return _in_folder(path)
    file = File.at(path)
    shards = _shards(file)
    return iter(_read(file)) if shards is None else _in_files(shards)


def _read(file: File) -> list[Entry]:
    reader = reader_of(file)
    return refuse_stranger(file) if reader is None else reader()


def _in_files(paths: list[str]) -> Iterator[Entry]:
    for path in paths:
        yield from _read(File.at(path))


def _in_folder(path: str) -> Iterator[Entry]:
    """Indexes first, so that a missing shard is missed; then each other file that is of a format."""
    files = [File.at(name) for name in _names(path, levels=2)]
    indexes = {file.path: shards for file in files if (shards := _shards(file)) is not None}
    listed = {shard: None for shards in indexes.values() for shard in shards}
    yield from _in_files(list(listed))
    found = len(listed)
    for file in files:
        reader = None if file.path in indexes or file.path in listed else reader_of(file)
        if reader is not None:
            found += 1
            yield from reader()
    if not found:
        deny(path, "which is a folder without a file that is read here", WANTED, "name another folder, or a file")


def _names(path: str, levels: int) -> list[str]:
    """The regular files in a folder and the folders in it, by name; pipes and devices are no checkpoints."""
    with guarded(path), os.scandir(path) as scan:
        below = sorted(os.path.join(path, found.name) for found in scan)  # noqa: PTH118  # names as given
    names = []
    for name in below:
        mode = status(name).st_mode
        if stat.S_ISREG(mode):
            names.append(name)
        elif stat.S_ISDIR(mode) and levels > 1:
            names += _names(name, levels - 1)
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

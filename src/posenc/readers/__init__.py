"""Tensors out of other people's files, nothing executed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..errors import DtypeError, refuse
from .entry import Entry
from .shards import list_path, read_path

__all__ = ["Entry", "entries", "files_of"]


def entries(path: str | os.PathLike[str]) -> Iterator[Entry]:
    """Every tensor in a file, in the shards of a checkpoint, or in a folder, by its header alone.

    `path` is a safetensors, `torch.save`, npy or npz file, which is told from its content; the JSON index of a
    sharded checkpoint; or a folder of these, its own folders looked into and files of other kinds passed over.
    Numbers are read when an entry is asked for them. The one exception is a `torch.save` file of the format
    before torch 1.6, which can only be read as a whole.

    Raises:
        DtypeError: where `path` is no path.
        FileError: where it is missing, of another kind, damaged, or would run code.
            A folder or an index raises it when the iteration comes to such a file.

    >>> import tempfile, numpy as np
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     np.savez(file, pe=np.eye(3, dtype=np.float32))
    ...     _ = file.seek(0)
    ...     [(entry.name, entry.shape, entry.dtype, entry.rows(1, 2)) for entry in entries(file.name)]
    [('pe', (3, 3), torch.float32, tensor([[0., 1., 0.]]))]
    """
    return read_path(_given(path))


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files that `entries` reads for a path, one by one: itself, the shards of an index, those in a folder.

    Files that cannot be read are among them, and raise when they are: each can be taken on its own. Files of other
    kinds are left out of a folder, unless their names end as those of the kinds read here: those are damaged.

    Raises:
        DtypeError: where `path` is no path.
        FileError: where it is missing, a damaged index, or a folder without any file that is read here.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/pe.npy", np.eye(3))
    ...     [os.path.basename(name) for name in files_of(folder)]
    ['pe.npy']
    """
    return list_path(_given(path))


def _given(path: str | os.PathLike[str]) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        refuse(f"path={path!r} of type {type(path).__name__}", "a path", "pass the name of a file", error=DtypeError)

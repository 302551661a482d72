"""Writes an encoding to a file, whole or not at all, and never over a file unless told to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
import torch
from torch import Tensor

from ..errors import FileError, refuse
from ..plots.whole import whole

KEY = "pe"
Overwrite = Literal["refuse", "replace"]


class TableFile:
    """One file to come, of numpy's or of safetensors' format, looked at before the work begins.

    Raises:
        InputError: where the suffix is unknown, or the dtype is none of the format's.
        FileError: where the file is there already or its folder cannot be written to.
    """

    def __init__(self, path: Path, dtype: torch.dtype, overwrite: Overwrite) -> None:
        self.path, self.dtype, self.overwrite = path, dtype, overwrite
        if path.suffix not in _FORMATS:
            wanted = "a file whose name ends in " + " or ".join(_FORMATS)
            refuse(f"--out {str(path)!r}", wanted, "rename it, as in --out table.npy")
        if path.suffix == ".npy" and dtype == torch.bfloat16:
            refuse(
                "--dtype bfloat16 for a .npy file",
                "float64, float32 or float16, since numpy has no bfloat16",
                "write a .safetensors file, which has",
            )
        self._check_place()

    def _check_place(self) -> None:
        folder = self.path.parent
        try:
            self.path.exists()
        except OSError as error:
            self._fail(f"which the system calls {(error.strerror or str(error)).lower()!r}", "a name", "use another")
        if self.path.is_dir():
            self._fail("which is a folder", "a file", "give it a name, as in --out table.npy")
        if not folder.is_dir():
            self._fail("whose folder is not there", "a folder that is", "make the folder first, or name another")
        if self.path.exists() and self.overwrite == "refuse":
            self._fail("which is there already", "a new file", "add --force to replace it")
        if not os.access(folder, os.W_OK):
            self._fail("without permission to write there", "a folder to write to", "name another folder")

    def _check_room(self, needed: int) -> None:
        there = shutil.disk_usage(self.path.parent).free
        if needed > there:
            self._fail(
                f"which takes {_size(needed)}",
                f"at most the {_size(there)} that are free",
                "ask for fewer rows",
            )

    def _fail(self, reason: str, wanted: str, fix: str) -> NoReturn:
        refuse(f"--out {str(self.path)!r}, {reason}", wanted, fix, error=FileError)

    def write(self, shape: tuple[int, int], pieces: Iterator[Tensor], notes: dict[str, str]) -> int:
        """Write rows that come in pieces (n, dim), with notes where the format takes them: bytes written."""
        self._check_room(shape[0] * shape[1] * self.dtype.itemsize)
        with self._whole() as part:
            _FORMATS[self.path.suffix](part, shape, self.dtype, pieces, notes)
            return part.stat().st_size

    @contextmanager
    def _whole(self) -> Iterator[Path]:
        """A file that takes the place of the one that is meant, or the reason why not."""
        try:
            # Somebody may have made it while the rows were computed.
            with whole(self.path, check=self._check_place) as part:
                yield part
        except FileError:
            raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self._fail(f"which ended in {reason!r}", "room and permission to write", "name another place")


def _write_npy(
    part: Path, shape: tuple[int, int], dtype: torch.dtype, pieces: Iterator[Tensor], _: dict[str, str]
) -> None:
    descr = np.lib.format.dtype_to_descr(torch.empty(0, dtype=dtype).numpy().dtype)
    with part.open("xb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        for rows in pieces:
            file.write(rows.numpy().data)


def _write_safetensors(
    part: Path, shape: tuple[int, int], dtype: torch.dtype, pieces: Iterator[Tensor], notes: dict[str, str]
) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    # safetensors writes what is in memory, and copies it once.
    needed, there = (
        shape[0] * shape[1] * dtype.itemsize,
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2,
    )
    if needed > there:
        refuse(
            f"a .safetensors file of {_size(needed)}",
            f"at most {_size(there)}, half the memory of this machine",
            "write a .npy file, which goes out in pieces, or ask for fewer rows",
        )
    table = torch.empty(shape, dtype=dtype)
    start = 0
    for rows in pieces:
        table[start : start + len(rows)] = rows
        start += len(rows)
    part.touch(exist_ok=False)
    mode = part.stat().st_mode
    try:
        save_file({KEY: table}, part, metadata=notes)
    except SafetensorError as error:
        raise OSError(None, str(error)) from error
    # safetensors makes a file that nobody else can read.
    part.chmod(mode)


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"


_FORMATS: dict[str, Callable[[Path, tuple[int, int], torch.dtype, Iterator[Tensor], dict[str, str]], None]] = {
    ".npy": _write_npy,
    ".safetensors": _write_safetensors,
}

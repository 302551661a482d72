"""Writes an encoding to a file, in the format that its name says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import refuse
from .place import Place

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
        # Beforehand, so that no row is computed in vain.
        self._place = Place(path, "table", "anything" if overwrite == "replace" else "nothing")

    def write(self, shape: tuple[int, int], pieces: Iterator[Tensor], notes: dict[str, str]) -> int:
        """Write rows that come in pieces (n, dim), with notes where the format takes them: bytes written."""
        needed, there = shape[0] * shape[1] * self.dtype.itemsize, shutil.disk_usage(self.path.parent).free
        if needed > there:
            self._place.refuse(
                f"which takes {_size(needed)}", f"at most the {_size(there)} that are free", "ask for fewer rows"
            )
        form = _FORMATS[self.path.suffix]
        return self._place.write(lambda file: form(file, shape, self.dtype, pieces, notes))


def _write_npy(
    file: BinaryIO, shape: tuple[int, int], dtype: torch.dtype, pieces: Iterator[Tensor], _: dict[str, str]
) -> None:
    descr = np.lib.format.dtype_to_descr(torch.empty(0, dtype=dtype).numpy().dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    file.writelines(rows.numpy().data for rows in pieces)


def _write_safetensors(
    file: BinaryIO, shape: tuple[int, int], dtype: torch.dtype, pieces: Iterator[Tensor], notes: dict[str, str]
) -> None:
    from safetensors.torch import save

    # safetensors makes a file in memory, of a table in memory, and copies it once between them.
    needed = shape[0] * shape[1] * dtype.itemsize
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 3
    if needed > there:
        refuse(
            f"a .safetensors file of {_size(needed)}",
            f"at most {_size(there)}, a third of the memory of this machine",
            "write a .npy file, which goes out in pieces, or ask for fewer rows",
        )
    table = torch.empty(shape, dtype=dtype)
    start = 0
    for rows in pieces:
        table[start : start + len(rows)] = rows
        start += len(rows)
    file.write(save({KEY: table}, metadata=notes))


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"


_FORMATS: dict[str, Callable[[BinaryIO, tuple[int, int], torch.dtype, Iterator[Tensor], dict[str, str]], None]] = {
    ".npy": _write_npy,
    ".safetensors": _write_safetensors,
}

"""Lists the arrays of npy and npz files by their headers, which are parsed and never unpickled."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from zipfile import ZIP_STORED, ZipInfo

import numpy as np
import torch
from torch import Tensor

from .entry import Entry
from .faults import guarded
from .files import File
from .place import ByteOrder, Opening, Place, row_major
from .zip_file import filling, opened, streaming

_AXES = 64
# numpy itself parses 10 000 bytes at most.
_LONGEST = 1 << 16
NPY_MAGIC = b"\x93NUMPY"
_READERS = {
    (1, 0): (2, np.lib.format.read_array_header_1_0),
    (2, 0): (4, np.lib.format.read_array_header_2_0),
    # The third differs in the encoding of field names, and a dtype with fields is not read.
    (3, 0): (4, np.lib.format.read_array_header_2_0),
}


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype | str
    order: ByteOrder
    length: int

    def entry(self, name: str, file: File, room: int, whole: Opening, part: Opening) -> Entry:
        """The array after this header, in `room` bytes that may be opened as a whole or for a part of it."""
        dtype = self.dtype
        if isinstance(dtype, str):
            return Entry(name, self.shape, dtype, file.path, None)

        def read(start: int, stop: int) -> Tensor:
            opening = whole if stop - start == math.prod(self.shape[:1]) else part
            return Place(opening, room, self.length, self.shape, self.strides, dtype, self.order).read(start, stop)

        return Entry(name, self.shape, dtype, file.path, read)


def read_npy(file: File) -> list[Entry]:
    """The one array of an npy file."""
    with guarded(file.path), _quiet(), file.open() as raw:
        header = _header(raw)
    return [header.entry("", file, file.size, file.filling, file.filling)]


def read_npz(file: File, infos: list[ZipInfo]) -> list[Entry]:
    """The arrays of an npz file; of each member only the header is inflated."""
    found = []
    with guarded(file.path), _quiet(), file.open() as raw:
        for info in infos:
            if info.filename.endswith(".npy"):
                name = info.filename.removesuffix(".npy")
                with guarded(file.path, f"whose entry {name!r}"), opened(raw, info) as stream:
                    header = _header(stream)
                # A stream has a checksum, a place is reached without reading what comes before.
                whole = partial(streaming, file, info)
                part = partial(filling, file, info) if info.compress_type == ZIP_STORED else whole
                found.append(header.entry(name, file, info.file_size, whole, part))
    return found


def _header(stream: io.RawIOBase | io.BufferedIOBase) -> _Header:
    """The header at the beginning of a stream."""
    start = stream.read(len(NPY_MAGIC) + 2) or b""
    version = start[-2], start[-1]
    if not start.startswith(NPY_MAGIC) or version not in _READERS:
        raise ValueError
    width, _ = _READERS[version]
    length = stream.read(width) or b""
    claimed = int.from_bytes(length, "little")
    if claimed > _LONGEST:
        raise ValueError
    text = stream.read(claimed) or b""
    return _parsed(version, length + text, len(start))


# Members of one archive often have one shape; to parse it takes longer than to find it.
@lru_cache(maxsize=256)
def _parsed(version: tuple[int, int], header: bytes, before: int) -> _Header:
    shape, columns, dtype = _READERS[version][1](io.BytesIO(header))
    if len(shape) > _AXES or not all(0 <= n < 1 << 63 for n in shape):
        raise ValueError
    strides = row_major(shape[::-1])[::-1] if columns else row_major(shape)
    swapped = dtype.byteorder == ">" or (dtype.byteorder == "=" and sys.byteorder == "big")
    return _Header(shape, strides, _torch_dtype(dtype), "big" if swapped else "little", before + len(header))


@contextmanager
def _quiet() -> Iterator[None]:
    """numpy warns of headers that an old Python wrote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _torch_dtype(dtype: np.dtype[np.generic]) -> torch.dtype | str:
    """Torch's dtype for one of numpy's, or the word of the file."""
    try:
        return torch.from_numpy(np.empty(0, dtype.newbyteorder("="))).dtype
    except TypeError:
        return dtype.str if dtype.names is None else str(dtype)

"""Lists the tensors of a torch.save file; torch unpickles it under weights_only, which runs no code of the file."""

from __future__ import annotations

import pickle
import re
import warnings
from bisect import bisect_right
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NoReturn
from zipfile import ZIP_STORED, ZipInfo

import torch
from torch import Tensor

from ..tracing import fake_mode
from .containers import tensors
from .entry import Entry
from .faults import deny, guarded
from .files import HEADER, File, Scant
from .long_ints import check_long_ints
from .place import Place
from .zip_file import filling, opened

# Before it had this, torch read every storage on its way to "meta"; fake tensors are slower, and read none.
_META = hasattr(torch.serialization, "_is_meta_location")
# Number, protocol, machine, the object, and the keys of its storages.
_LEGACY_PICKLES = 5
_MAGIC = torch.serialization.MAGIC_NUMBER.to_bytes(10, "little")
STATE_ONLY = "save tensors alone, as in torch.save(module.state_dict(), path)"


def is_pickle(head: bytes) -> bool:
    """Whether a file begins as a pickle of protocol 2 or above."""
    return head[:1] == b"\x80" and 2 <= int.from_bytes(head[1:2], "little") <= 5


def is_legacy(head: bytes) -> bool:
    """Whether a file begins with the number that torch.save wrote before it wrote archives."""
    return is_pickle(head) and _MAGIC in head[:32]


def read_legacy(file: File) -> list[Entry]:
    """The tensors of a file of the old format, which can only be read as a whole: they are in memory."""
    with guarded(file.path), file.headers() as stream:
        check_long_ints(file.path, stream, _LEGACY_PICKLES)
    with guarded(file.path), file.headers() as stream:
        found = tensors(file.path, _load(file, stream, "cpu"))
        # torch gives memory as it finds it for a storage that is announced and does not come.
        if _bytes_in([tensor for _, tensor in found]) > stream.filled:
            raise EOFError
    return [_held(file, name, tensor) for name, tensor in found]


def read_archive(file: File, infos: list[ZipInfo]) -> list[Entry]:
    """The tensors of a torch.save archive, by its pickle alone: no storage is read, and the file is not mapped.

    A mapped file (torch's mmap=True) counts as memory wherever it was read, until the last tensor of it is gone.
    """
    for info in infos:
        # To load one of these without its data ends the process, and torch tells names apart as Windows does.
        if info.filename.lower().endswith("/byteorder") and _content(file, info) != b"little":
            fix = "load and save it again on the machine that wrote it, as safetensors"
            deny(file.path, "which was written by a big-endian machine", "an archive of a little-endian one", fix)
        # torch packs nothing, and what is unpickled must leave memory for others.
        if info.compress_type != ZIP_STORED or ("/data/" not in info.filename and info.file_size > HEADER):
            reason = f"whose member {info.filename!r} is packed, or takes more than {HEADER} bytes"
            deny(file.path, reason, "an archive as torch.save writes it")
        if info.filename.lower().endswith("/data.pkl"):
            with guarded(file.path), file.open() as raw, opened(raw, info) as member:
                check_long_ints(file.path, member, 1)
    with guarded(file.path), file.headers() as stream, nullcontext() if _META else fake_mode():
        found = tensors(file.path, _load(file, stream, "meta" if _META else "cpu"))
        described = [(name, _Described.of(tensor)) for name, tensor in found]
    infos = sorted(infos, key=lambda info: info.header_offset)
    begins = [info.header_offset for info in infos]
    return [seen.entry(name, file, infos[bisect_right(begins, seen.start) - 1]) for name, seen in described]


def refuse_script(file: File) -> NoReturn:
    """A TorchScript archive is a program."""
    deny(file.path, "which is a TorchScript archive and holds code, none of which was run", "tensors", STATE_ONLY)


@dataclass(frozen=True)
class _Described:
    """What a tensor without data tells of itself; `start` is the byte at which its storage begins."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype | str
    offset: int
    start: int
    conjugated: bool
    negated: bool

    @classmethod
    def of(cls, tensor: Tensor) -> _Described:
        dtype = _dtype(tensor)
        if isinstance(dtype, str):
            return cls(_shape(tensor), (), dtype, 0, -1, conjugated=False, negated=False)
        offset = int(tensor.storage_offset())
        # torch's own name for the place of a storage in an archive; what it says is held against the archive.
        start = getattr(tensor.untyped_storage(), "_checkpoint_offset", None)
        if type(start) is not int or start < 0 or min((0, offset, *tensor.stride())) < 0:
            return cls(_shape(tensor), (), "no data", 0, -1, conjugated=False, negated=False)
        signs = tensor.is_conj(), tensor.is_neg()
        return cls(_shape(tensor), tensor.stride(), dtype, offset, start, *signs)

    def entry(self, name: str, file: File, info: ZipInfo) -> Entry:
        dtype = self.dtype
        if isinstance(dtype, str):
            return Entry(name, self.shape, dtype, file.path, None)
        opening = partial(filling, file, info, self.start)
        place = Place(opening, info.file_size, self.offset * dtype.itemsize, self.shape, self.strides, dtype)

        def read(start: int, stop: int) -> Tensor:
            rows = place.read(start, stop)
            rows = rows.conj().resolve_conj() if self.conjugated else rows
            return rows.neg() if self.negated else rows

        return Entry(name, self.shape, dtype, file.path, read)


def _held(file: File, name: str, tensor: Tensor) -> Entry:
    """The entry of a tensor that is in memory."""

    def read(start: int, stop: int) -> Tensor:
        rows = tensor[start:stop] if tensor.ndim else tensor
        # A copy, so that nobody writes into what is read next.
        return rows.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)

    dtype = _dtype(tensor)
    if tensor.device.type != "cpu":
        dtype = "no data"
    return Entry(name, _shape(tensor), dtype, file.path, None if isinstance(dtype, str) else read)


def _bytes_in(found: list[Tensor]) -> int:
    """The memory of all plain tensors; what several share counts once."""
    end = total = 0
    storages = [tensor.untyped_storage() for tensor in found if not isinstance(_dtype(tensor), str)]
    for begin, size in sorted((storage.data_ptr(), storage.nbytes()) for storage in storages):
        total += max(begin + size, end) - max(begin, end)
        end = max(begin + size, end)
    return total


def _content(file: File, info: ZipInfo) -> bytes:
    """The first bytes of a short member."""
    with guarded(file.path), file.open() as raw, opened(raw, info) as stream:
        return stream.read(16)


def _dtype(tensor: Tensor) -> torch.dtype | str:
    """The dtype of a plain tensor, or what it is instead."""
    if tensor.is_nested:
        return "nested"
    if tensor.layout != torch.strided:
        return str(tensor.layout)
    return str(tensor.dtype) if tensor.is_quantized else tensor.dtype


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return () if tensor.is_nested else tuple(tensor.shape)


def _load(file: File, stream: Scant, device: str) -> object:
    """What torch unpickles, with its refusals in our words: its own advise to trust the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(stream, map_location=device, weights_only=True)
    except pickle.UnpicklingError as error:
        name = re.search(r"GLOBAL (\S{1,100}) (?:was|whose)", str(error))
        what = f"pickled code ({name[1]!r})" if name else "pickled code, or is damaged"
        wanted = "tensors in dicts, lists and tuples"
        deny(file.path, f"which holds {what}, and was refused: nothing of it was run", wanted, STATE_ONLY)
    except NotImplementedError:
        deny(
            file.path,
            "which holds a quantized, nested or otherwise special tensor",
            "plain tensors",
            "save the other tensors alone",
        )

"""Finds the members of a zip archive, and reads one of them without inflating more than is asked for."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipExtFile, ZipFile, ZipInfo

from .faults import deny, guarded
from .files import File, Fill, read_fully

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_LOCAL = struct.Struct("<4s22xHH")
_STEP = 1 << 20
# No stream of deflate is longer than this many times its own size.
_DEFLATE = 1032

Flavour = Literal["npz", "torch", "torchscript"]


def members(file: File) -> list[ZipInfo]:
    """The directory of an archive, with sizes that can be true and names that are unique."""
    with guarded(file.path), file.headers() as stream, ZipFile(stream) as archive:
        found = archive.infolist()
    if len({info.filename for info in found}) < len(found):
        deny(file.path, "whose zip directory has a name twice", "names that are unique")
    for info in found:
        room = info.compress_size * (1 if info.compress_type == ZIP_STORED else _DEFLATE)
        if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED} or info.flag_bits & 1:
            deny(
                file.path,
                f"whose member {info.filename!r} is packed in a foreign way",
                "a file as numpy or torch writes",
            )
        if info.header_offset + info.compress_size > file.size or info.file_size > room:
            deny(file.path, f"whose member {info.filename!r} claims more than the file holds", "a whole file")
    return found


def flavour(names: list[str]) -> Flavour | None:
    """What an archive is, told from the names in it."""
    for name in names:
        folder, _, last = name.rpartition("/")
        if last == "data.pkl" and "/" not in folder:
            return "torchscript" if f"{folder}/constants.pkl" in names else "torch"
    return "npz" if any(name.endswith(".npy") for name in names) or not names else None


def first_member(head: bytes) -> str:
    """The name of the first member, as the first bytes of the file give it; the directory may be lost."""
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].decode("utf-8", "replace")


def data_start(raw: io.FileIO, info: ZipInfo) -> int:
    """The byte at which the data of a member begin, after a header of its own."""
    raw.seek(info.header_offset)
    signature, name, extra = _LOCAL.unpack(raw.read(_LOCAL.size))
    if signature != ZIP_MAGIC[0]:
        raise ValueError
    return int(info.header_offset + _LOCAL.size + name + extra)


@contextmanager
def opened(raw: io.FileIO, info: ZipInfo) -> Iterator[ZipExtFile]:
    """A member as a stream, whose checksum is held against the directory's at its end."""
    raw.seek(data_start(raw, info))
    # ZipFile.open would parse the directory again for every member.
    with ZipExtFile(raw, "r", info) as stream:
        yield stream


@contextmanager
def streaming(file: File, info: ZipInfo) -> Iterator[Fill]:
    """As `File.filling` for one member, packed or not; places must be asked for in ascending order."""
    with file.open() as raw, opened(raw, info) as stream:
        position = 0

        def fill(at: int, view: memoryview) -> None:
            nonlocal position
            while position < at:
                skipped = len(stream.read(min(at - position, _STEP)))
                if not skipped:
                    raise EOFError
                position += skipped
            read_fully(stream, view, _STEP)
            position += len(view)

        yield fill


@contextmanager
def filling(file: File, info: ZipInfo, start: int | None = None) -> Iterator[Fill]:
    """As `File.filling` for one member that is not packed; its data must begin at `start` where that is given."""
    with file.open() as raw:
        begin = data_start(raw, info)
        if start not in {None, begin}:
            raise ValueError

        def fill(at: int, view: memoryview) -> None:
            raw.seek(begin + at)
            read_fully(raw, view)

        yield fill

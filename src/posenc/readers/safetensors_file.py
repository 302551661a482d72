"""Lists the tensors of a safetensors file by its header: a length, a JSON text, and then the numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import torch

from .entry import Entry
from .faults import deny, guarded
from .files import HEADER, File
from .place import Place, row_major

# safetensors' own reader is not used. Its safe_open maps the file, and what was read stays resident while it is open
# (2.1 GB of a file of 2 GB); its "pread" backend reads the whole tensor for eight rows of it (2.1 GB, 6 s; both 0.8.0).
_LENGTH = 8
_AXES = 64
# Bits to the element; torch's name follows where it has one. F4 is packed in torch, which changes the shape.
_BITS = {
    "BOOL": (8, "bool"),
    "U8": (8, "uint8"),
    "I8": (8, "int8"),
    "U16": (16, "uint16"),
    "I16": (16, "int16"),
    "U32": (32, "uint32"),
    "I32": (32, "int32"),
    "U64": (64, "uint64"),
    "I64": (64, "int64"),
    "F16": (16, "float16"),
    "BF16": (16, "bfloat16"),
    "F32": (32, "float32"),
    "F64": (64, "float64"),
    "C64": (64, "complex64"),
    "F8_E4M3": (8, "float8_e4m3fn"),
    "F8_E5M2": (8, "float8_e5m2"),
    "F8_E8M0": (8, "float8_e8m0fnu"),
    "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"),
    "F6_E2M3": (6, ""),
    "F6_E3M2": (6, ""),
    "F4": (4, ""),
}


def is_safetensors(head: bytes) -> bool:
    """Whether a file begins with a length and a JSON object; a length whose last byte is a letter is text."""
    return head[8:9] == b"{" and head[9:10] in {b'"', b"}", b" ", b"\n", b"\r", b"\t"} and not 9 <= head[7] <= 126


def read_safetensors(file: File) -> list[Entry]:
    """The entries of a safetensors file, in the order of its header."""
    with guarded(file.path), file.open() as raw:
        length = int.from_bytes(raw.read(_LENGTH), "little")
        if length > file.size - _LENGTH:
            deny(file.path, f"whose header claims {length} of its {file.size} bytes", "a whole file")
        if length > HEADER:
            deny(file.path, f"whose header takes {length} bytes", f"a header of at most {HEADER} bytes")
        header = _parse(file, raw.read(length))
        records = [(name, *_checked(file, name, record)) for name, record in header.items() if name != "__metadata__"]
        _check_cover(file, records, file.size - _LENGTH - length)
        return list(_entries(file, records, _LENGTH + length))


def _parse(file: File, text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            deny(file.path, "whose header has a key twice", "names that are unique")
        return found

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except UnicodeDecodeError:
        deny(file.path, "whose header is not UTF-8", "a JSON text")
    except ValueError:
        deny(file.path, "whose header is not JSON", "a JSON text")
    if not isinstance(header, dict):
        deny(file.path, "whose header is no JSON object", "names with their tensors")
    return header


def _checked(file: File, name: str, record: object) -> tuple[str, tuple[int, ...], int, int]:
    """The dtype's word, the shape and the two offsets of one record."""
    fields: dict[str, Any] = record if isinstance(record, dict) else {}
    word, shape, offsets = (fields.get(key, "") for key in ("dtype", "shape", "data_offsets"))
    sound = isinstance(word, str) and _is_integers(shape) and _is_integers(offsets)
    if not sound or len(shape) > _AXES or len(offsets) != 2 or offsets[0] > offsets[1]:
        wanted = "a dtype, a shape and two ascending offsets, none of them negative"
        deny(file.path, f"whose entry {name!r} is not described soundly", wanted)
    claimed = offsets[1] - offsets[0]
    if word in _BITS and math.prod(shape) * _BITS[word][0] != 8 * claimed:
        reason = f"whose entry {name!r} of shape {tuple(shape)} and type {word} claims {claimed} bytes"
        deny(file.path, reason, "the bytes that such a tensor takes")
    return word, tuple(shape), offsets[0], offsets[1]


def _is_integers(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 1 << 63 for n in value)


def _check_cover(file: File, records: list[tuple[str, str, tuple[int, ...], int, int]], there: int) -> None:
    """The tensors must follow each other without overlap or gap, from the first byte to the last."""
    end = 0
    for name, _, _, begin, stop in sorted(records, key=lambda record: record[3:]):
        if begin != end:
            reason = f"whose entry {name!r} begins at byte {begin}, where {end} is the next free one"
            deny(file.path, reason, "tensors that follow each other")
        end = stop
    if end != there:
        deny(file.path, f"whose tensors claim {end} bytes of the {there} that are there", "a whole file")


def _entries(file: File, records: list[tuple[str, str, tuple[int, ...], int, int]], base: int) -> Iterator[Entry]:
    for name, word, shape, begin, _ in records:
        dtype = getattr(torch, _BITS.get(word, (0, ""))[1] or "-", word)
        if isinstance(dtype, torch.dtype):
            place = Place(file.filling, file.size, base + begin, shape, row_major(shape), dtype)
            yield Entry(name, shape, dtype, file.path, place.read)
        else:
            yield Entry(name, shape, word, file.path, None)

"""Files that were made to mislead, are broken, or are no files: one clear error each."""

import json
import os

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.hostile_files import TABLE, WHOLE, load_all, record, refused, safetensors, written

from posenc.errors import FileError
from posenc.readers import entries, files

pytestmark = pytest.mark.timeout(60)

BAD_HEADERS = {
    "a length of 2^63": (safetensors(b'{"', length=2**63), "claims 9223372036854775808 of its"),
    "a length beyond the file": (safetensors({"a": record()}, bytes(8), length=999), "claims 999 of its"),
    "a long header of spaces": (safetensors(b"{" + b" " * 101_000_000 + b"}"), "whose header takes 101000002 bytes"),
    "not UTF-8": (safetensors(b'{"\xff": 1}'), "not UTF-8"),
    "not JSON": (safetensors(b'{"a": }'), "not JSON"),
    "nested too deep": (safetensors(b'{"a":' + b"[" * 100_000), "is damaged (RecursionError)"),
    "a huge number": (safetensors(b'{"a":' + b"9" * 10_000 + b"}"), "not JSON"),
    "a key twice": (safetensors(b'{"a":' + json.dumps(record()).encode() + b',"a":1}', bytes(8)), "has a key twice"),
    "no record": (safetensors({"a": 5}), "entry 'a' is not described soundly"),
    "a negative offset": (safetensors({"a": record(offsets=(-8, 0))}), "not described soundly"),
    "offsets that descend": (safetensors({"a": record(offsets=(8, 0))}, bytes(8)), "not described soundly"),
    "offsets in floats": (safetensors({"a": record(offsets=(0.0, 8.0))}, bytes(8)), "not described soundly"),
    "a negative shape": (safetensors({"a": record(shape=(-2,))}, bytes(8)), "not described soundly"),
    "a shape of bools": (safetensors({"a": record(shape=(True, 2))}, bytes(8)), "not described soundly"),
    "a shape of too many axes": (safetensors({"a": record(shape=(1,) * 99)}, bytes(4)), "not described soundly"),
    "another size": (safetensors({"a": record(shape=(3,))}, bytes(8)), "of shape (3,) and type F32 claims 8 bytes"),
    "an overflow": (safetensors({"a": record(shape=(2**62, 4))}, bytes(8)), "claims 8 bytes"),
    "an overlap": (
        safetensors({"a": record(), "b": record(offsets=(4, 12))}, bytes(12)),
        "'b' begins at byte 4, where 8",
    ),
    "a gap": (safetensors({"a": record(), "b": record(offsets=(12, 20))}, bytes(20)), "'b' begins at byte 12, where 8"),
    "more than claimed": (safetensors({"a": record()}, bytes(9)), "claim 8 bytes of the 9"),
    "less than claimed": (safetensors({"a": record()}, bytes(7)), "claim 8 bytes of the 7"),
    "control characters": (safetensors({"\x1b[2J\u202e": 5}), r"'\x1b[2J\u202e'"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_headers_of_safetensors(tmp_path, case):
    data, said = BAD_HEADERS[case]

    refused(written(tmp_path / "file", data), said)


def test_a_bool_is_one_or_zero(tmp_path):
    (entry,) = entries(written(tmp_path / "file", safetensors({"a": record((3,), (0, 3), "BOOL")}, b"\x00\x01\xff")))

    assert entry.load().view(torch.uint8).tolist() == [0, 1, 1]


def test_dtypes_that_torch_lacks_do_not_hide_the_others(tmp_path):
    header = {
        "new": record((3, 5), (0, 8), "F128Q"),
        "packed": record((4,), (8, 10), "F4"),
        "a": record((1,), (10, 14)),
    }
    found = list(entries(written(tmp_path / "file", safetensors(header, bytes(14)))))

    assert [entry.dtype for entry in found] == ["F128Q", "F4", torch.float32]
    assert found[2].load().tolist() == [0]


@pytest.mark.parametrize("kind", WHOLE)
def test_every_truncation(tmp_path, kind):
    data = WHOLE[kind]
    for length in {*range(0, len(data), 37), len(data) - 1}:
        refused(written(tmp_path / "file", data[:length]))


@pytest.mark.parametrize("kind", WHOLE)
def test_bytes_at_random(tmp_path, kind):
    draw = np.random.default_rng(0)
    for _ in range(100):
        data = np.frombuffer(WHOLE[kind], dtype=np.uint8).copy()
        data[draw.integers(0, len(data), 4)] = draw.integers(0, 256, 4)
        path = written(tmp_path / "file", data.tobytes())
        try:
            load_all(path)
        except FileError:
            refused(path)
    refused(written(tmp_path / "file", draw.bytes(5000)), "whose content is none that is read here")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "which is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"\x80\x04N.", "a pickle and may hold code"),
        (b'{"weight_map": {"a": "../a.safetensors"}}', "names the shard '../a.safetensors'"),
        (b'{"weight_map": {"a": 5}}', "names the shard 5"),
        (b'{"weight_map": {"a": "file"}}', "whose content is none that is read here"),
        (b'{"weight_map": {"a', "is damaged (JSONDecodeError)"),
    ],
)
def test_other_files(tmp_path, data, said):
    refused(written(tmp_path / "file", data), said)


def test_what_is_no_file(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    refused(tmp_path / "missing" / "file", "which does not exist", "check the name")
    refused(tmp_path / "pipe", "which is no regular file")
    refused("/dev/zero", "which is no regular file")
    refused(tmp_path / "loop", "cannot be read (too many levels of symbolic links)")
    refused(tmp_path / "folder", "a folder without a file that is read here")
    refused("nul\0", r"'nul\x00', which is no name of a file")
    refused(written(tmp_path / "red\x1b[31m\n", b"?"), r"red\x1b[31m\n")
    save_file({"a": TABLE}, tmp_path / "secret")
    seen = files.File.at(str(tmp_path / "secret"))

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        # Not by its mode, which does not hold back a test that runs as root.
        patch.setattr(files.os, "open", denied)
        refused(tmp_path / "secret", "cannot be read (permission denied)", "permissions")
    (tmp_path / "secret").unlink()
    os.mkfifo(tmp_path / "secret")
    with pytest.raises(FileError, match="changed while it was read"), seen.open():
        pass

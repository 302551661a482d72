"""Archives and pickles that hold code, bombs and lies: refused, and nothing of them is run or inflated."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from tests.hostile_files import TABLE, WHOLE, in_bytes, refused, rezipped, written

from posenc.errors import FileError
from posenc.readers import entries

pytestmark = pytest.mark.timeout(60)


class Code:
    """What a pickle runs when somebody loads it."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def unsafely(path):
    """Load a file as one should not."""
    if path.name.startswith("torch"):
        torch.load(path, weights_only=False)
    elif path.name.startswith("np"):
        loaded = np.load(path, allow_pickle=True)
        _ = loaded["x"] if path.name == "npz" else loaded
    else:
        pickle.loads(path.read_bytes())


@pytest.mark.parametrize("kind", ["torch", "torch-old", "torch-protocol-4", "torch-name", "npy", "npz", "pickle"])
def test_code_is_refused_and_not_run(tmp_path, kind):
    marker, path = tmp_path / "ran", tmp_path / kind
    code = {"pe": TABLE, "x": Code(marker)}
    array = np.array([Code(marker)], dtype=object)
    with path.open("wb") as file:
        if kind == "npy":
            np.save(file, array)
        elif kind == "npz":
            np.savez(file, x=array)
        elif kind == "pickle":
            pickle.dump(code, file)
        else:
            protocol = 4 if kind == "torch-protocol-4" else 2
            torch.save(code, file, _use_new_zipfile_serialization=kind != "torch-old", pickle_protocol=protocol)

    text = refused(path)
    assert not marker.exists()
    assert "code" in text or "plain numbers" in text
    if kind.startswith("torch"):
        assert "nothing of it was run" in text
        assert "torch.save(module.state_dict(), path)" in text
    # The charge was live: whoever trusts the file sets it off.
    unsafely(path)
    assert marker.exists()


def test_scripts_and_modules_are_refused(tmp_path):
    path = tmp_path / "module"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)
    refused(path, "TorchScript", "state_dict()")

    torch.save(torch.nn.Linear(2, 2), path)
    refused(path, "pickled code ('torch.nn.modules.linear.Linear')")


def pickled(change):
    return rezipped(WHOLE["torch"], lambda name, data: change(data) if name.endswith("data.pkl") else data)


SHAPE = b"K\x03K\x04\x86"
ARCHIVES = {
    "a storage beyond its record": (pickled(lambda data: data.replace(SHAPE, b"K\xc8K\xc8\x86")), "claims more"),
    "a view that repeats beyond measure": (
        pickled(lambda data: data.replace(SHAPE + b"q\x08K\x04K\x01", b"J\xff\xff\xff\x0fK\x04\x86q\x08K\x00K\x01")),
        "claims more",
    ),
    "another byte order": (
        rezipped(WHOLE["torch"], lambda name, data: b"big" if "order" in name else data),
        "big-endian",
    ),
    "packed members": (rezipped(WHOLE["torch"], lambda _, data: data, zipfile.ZIP_DEFLATED), "is packed"),
    "no storage": (rezipped(WHOLE["torch"], lambda name, data: None if "/data/" in name else data), "is damaged"),
    "a list that holds itself": (pickled(lambda _: b"\x80\x02]q\x00h\x00a."), "nest without end"),
    "lists that double": (
        pickled(
            lambda _: b"\x80\x02]q\x00" + b"".join(b"]q%c(h%ch%ce" % (i, i - 1, i - 1) for i in range(1, 60)) + b"."
        ),
        "nest without end",
    ),
    "an old storage that does not come": (
        WHOLE["torch-old"][: WHOLE["torch-old"].rindex(b"\x80\x02]")] + pickle.dumps([], 2),
        "claims more",
    ),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_archives_of_torch(tmp_path, case):
    data, said = ARCHIVES[case]
    assert data not in WHOLE.values()

    refused(written(tmp_path / "file", data), said)


def bomb(shape, *members, write_header=np.lib.format.write_array_header_1_0):
    """An npz file whose member x claims a shape and holds 20 MB of zeros in 20 kB, and other members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w") as member:
            write_header(member, {"descr": "<f4", "fortran_order": False, "shape": shape})
            member.write(bytes(20_000_000))
        for name in members:
            archive.writestr(name, b"")
    return stream.getvalue()


def test_a_bomb_is_not_inflated_until_it_is_asked_for(tmp_path, monkeypatch):
    inflated = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, n=-1: inflated.append(data := read(self, n)) or data)
    (entry,) = entries(written(tmp_path / "file", bomb((5_000_000,))))
    assert sum(map(len, inflated)) < 1000
    assert entry.rows(0, 10).tolist() == [0] * 10
    assert sum(map(len, inflated)) < 2000

    inflated.clear()
    refused(written(tmp_path / "file", bomb((5_000_001,))), "entry 'x' claims more than the file holds")
    refused(written(tmp_path / "file", bomb((1 << 60,))), "entry 'x' claims more than the file holds")

    def endless(member, _):
        member.write(b"\x93NUMPY\x02\x00" + (2**24).to_bytes(4, "little"))

    refused(written(tmp_path / "file", bomb((1,), write_header=endless)), "whose entry 'x' is damaged")
    assert sum(map(len, inflated)) < 2000


def test_directories_of_archives_that_lie(tmp_path):
    data = bomb((5_000_000,))
    claimed = data.rindex(b"PK\x01\x02") + 24
    lie = data[:claimed] + (2**31).to_bytes(4, "little") + data[claimed + 4 :]
    refused(written(tmp_path / "file", lie), "member 'x.npy' claims more than the file holds")

    with pytest.warns(UserWarning, match="Duplicate name"):
        refused(written(tmp_path / "file", bomb((1,), "a.npy", "a.npy")), "has a name twice")
    refused(written(tmp_path / "file", bomb((1,), "a.npy")), "whose entry 'a' is damaged")

    numbers = np.arange(10_000.0)
    stored = bytearray(in_bytes(lambda stream: np.savez(stream, a=numbers)))
    stored[stored.index(numbers[9000:].tobytes())] ^= 1
    refused(written(tmp_path / "file", bytes(stored)), "whose entry 'a' is damaged (BadZipFile)")


@pytest.mark.parametrize("shape", ["(-1,)", "(2**3,)", f"({10**30},)", "()" * 2000, "[1]", "(True, 2.5)"])
def test_headers_of_numpy(tmp_path, shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".encode()
    path = written(tmp_path / "file", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)

    refused(path, "which is damaged")
    with pytest.raises(FileError):
        entries(path)


def test_empty_archives_have_no_entries(tmp_path):
    np.savez(tmp_path / "empty.npz")

    assert list(entries(tmp_path / "empty.npz")) == []
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("word/document.xml", b"<xml/>")
    refused(tmp_path / "other.zip", "whose content is none that is read here")
    assert list(entries(tmp_path)) == []

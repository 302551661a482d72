"""Files that were made to mislead, and the one way in which all of them must end."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save

from posenc.errors import FileError
from posenc.readers import entries

TABLE = torch.arange(12.0).reshape(3, 4)


def load_all(path):
    return [entry.load() for entry in entries(path)]


def refused(path, *parts):
    """The message of the one error that listing or loading ends in; it is fit for a terminal."""
    with pytest.raises(FileError) as caught:
        load_all(path)
    text = str(caught.value)
    assert type(caught.value) is FileError
    assert text.startswith((f"got {os.fspath(path)!r}, which ", f"got {os.fspath(path)!r}, whose "))
    assert ", but wanted " in text
    assert "; " in text.split(", but wanted ")[1]
    assert text.isprintable()
    for part in parts:
        assert part in text
    return text


def written(path, data):
    path.write_bytes(data)
    return path


def in_bytes(save_to):
    stream = io.BytesIO()
    save_to(stream)
    return stream.getvalue()


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def record(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def rezipped(data, change, packing=zipfile.ZIP_STORED):
    """The archive with its members changed: a function of name and content, None to leave one out."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", packing) as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                new.writestr(info.filename, content)
    return stream.getvalue()


WHOLE = {
    "safetensors": save({"a": TABLE, "b": TABLE.long()}),
    "torch": in_bytes(lambda stream: torch.save({"a": TABLE}, stream)),
    "torch-old": in_bytes(lambda stream: torch.save({"a": TABLE}, stream, _use_new_zipfile_serialization=False)),
    "npy": in_bytes(lambda stream: np.save(stream, TABLE.numpy())),
    "npz": in_bytes(lambda stream: np.savez(stream, a=TABLE.numpy())),
    "npz-packed": in_bytes(lambda stream: np.savez_compressed(stream, a=TABLE.numpy())),
}

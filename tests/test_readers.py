"""Tensors out of files of every format: equal to the last bit, by name, and only what was asked for."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from posenc.errors import DtypeError, FileError, InputError
from posenc.readers import Entry, entries, files, numpy_file, torch_file, zip_file

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    *(torch.bool, torch.complex64),
]
IN_NUMPY = [dtype for dtype in DTYPES if dtype != torch.bfloat16 and dtype.itemsize > 1] + [torch.int8, torch.bool]
IN_LEGACY = [dtype for dtype in IN_NUMPY if "uint" not in str(dtype)] + [torch.bfloat16]


def bits(tensor):
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).tolist()


def some(dtype, shape=(5, 3)):
    """Every bit is drawn, so that NaN of every kind is among the values."""
    count = int(np.prod(shape)) * dtype.itemsize
    return torch.randint(0, 2 if dtype == torch.bool else 256, (count,), dtype=torch.uint8).view(dtype).reshape(shape)


def read(path):
    return {entry.name: entry for entry in entries(path)}


def alike(entry, tensor):
    """The entry says what the tensor is, and its rows are the tensor's."""
    assert (entry.shape, entry.dtype) == (tuple(tensor.shape), tensor.dtype)
    loaded = entry.load()
    assert (loaded.shape, loaded.dtype, loaded.device.type) == (tensor.shape, tensor.dtype, "cpu")
    assert loaded.is_contiguous()
    assert bits(loaded) == bits(tensor)
    for start, stop in [(0, 1), (1, 4), (2, 2)] if tensor.ndim and len(tensor) > 3 else []:
        assert bits(entry.rows(start, stop)) == bits(tensor[start:stop])
    return True


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_every_dtype_of_torch(tmp_path, kind, dtype):
    tensors = {
        "table": some(dtype),
        "point": some(dtype, ()),
        "none": some(dtype, (0, 3)),
        "cube": some(dtype, (4, 1, 2)),
    }
    path = tmp_path / "any.name"
    save_file(tensors, path) if kind == "safetensors" else torch.save(tensors, path)

    found = read(path)
    assert found.keys() == tensors.keys()
    assert all(alike(found[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("dtype", IN_LEGACY, ids=str)
def test_every_dtype_of_the_old_format(tmp_path, dtype):
    tensors = {"table": some(dtype), "point": some(dtype, ()), "none": some(dtype, (0, 3))}
    torch.save(tensors, tmp_path / "old", _use_new_zipfile_serialization=False)

    assert all(alike(entry, tensors[name]) for name, entry in read(tmp_path / "old").items())


@pytest.mark.parametrize("dtype", IN_NUMPY, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ends", "<>")
def test_every_dtype_and_order_of_numpy(tmp_path, dtype, order, ends):
    tensors = {
        "table": some(dtype),
        "point": some(dtype, ()),
        "none": some(dtype, (0, 3)),
        "cube": some(dtype, (4, 1, 2)),
    }
    arrays = {name: np.array(tensor.numpy(), order=order) for name, tensor in tensors.items()}
    arrays = {name: array.astype(array.dtype.newbyteorder(ends), order=order) for name, array in arrays.items()}
    np.savez(tmp_path / "plain.npz", **arrays)
    np.savez_compressed(tmp_path / "packed.npz", **arrays)

    for name, array in arrays.items():
        np.save(tmp_path / "one.npy", array)
        (entry,) = entries(tmp_path / "one.npy")
        assert entry.name == ""
        for found in (entry, read(tmp_path / "plain.npz")[name], read(tmp_path / "packed.npz")[name]):
            assert alike(found, tensors[name])


def test_torch_views_and_kinds(tmp_path):
    base = torch.randn(6, 4)
    z = torch.randn(5, 3, dtype=torch.complex64)
    tensors = {
        "turned": base.t(),
        "cut": base[1:5, 1:3],
        "skipped": base[::2],
        "expanded": torch.arange(6.0).expand(5, 6),
        "batch": base.expand(4, 6, 4),
        "conjugated": z.conj(),
        "imaginary": z.clone().conj().imag,
        "parameter": torch.nn.Parameter(base.clone()),
        "buffer": torch.nn.Buffer(base.clone()),
    }
    for name in ("new", "old"):
        torch.save(tensors, tmp_path / name, _use_new_zipfile_serialization=name == "new")
        found = read(tmp_path / name)
        assert all(alike(found[key], tensor.detach()) for key, tensor in tensors.items())
        assert not any(entry.load().requires_grad for entry in found.values())


def test_what_has_no_numbers_is_named_and_refused(tmp_path):
    special = {"sparse": torch.eye(3).to_sparse(), "meta": torch.empty(3, 2, device="meta"), "plain": torch.ones(2)}
    torch.save(special, tmp_path / "special")
    words = np.array(["a", "bc"]), np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]), np.array([{}, None])
    np.savez(tmp_path / "words", text=words[0], fields=words[1], objects=words[2], date=np.array([5], "<M8[D]"))

    found = read(tmp_path / "special") | read(tmp_path / "words.npz")
    assert found.pop("plain").load().tolist() == [1, 1]
    assert {name: entry.dtype for name, entry in found.items()} == {
        "sparse": "torch.sparse_coo",
        "meta": "no data",
        "text": "<U2",
        "fields": "[('a', '<i4'), ('b', '<f8')]",
        "objects": "|O",
        "date": "<M8[D]",
    }
    for name, entry in found.items():
        with pytest.raises(FileError, match=f"whose entry '{name}' is of type .*; save it as plain numbers"):
            entry.load()


def test_nested_names(tmp_path):
    one = torch.ones(1)
    inner = {"state_dict": {"model.pe": one, 3: [one, (one, "text", None)]}, "optimizer": {"lr": 0.1, (0, "a"): one}}
    for name in ("new", "old"):
        torch.save(inner, tmp_path / name, _use_new_zipfile_serialization=name == "new")
        found = list(read(tmp_path / name))
        assert found == ["state_dict.model.pe", "state_dict.3.0", "state_dict.3.1.0", "optimizer.(0, 'a')"]
        torch.save(one, tmp_path / name, _use_new_zipfile_serialization=name == "new")
        assert list(read(tmp_path / name)) == [""]


def test_containers_nest_as_deep_as_they_may(tmp_path):
    nested = torch.ones(1)
    for depth in range(65):
        torch.save(nested, tmp_path / "file")
        (name,) = read(tmp_path / "file")
        assert name == ".".join("0" * depth)
        nested = [nested]
    torch.save(nested, tmp_path / "file")

    with pytest.raises(FileError, match="nest without end or measure"):
        entries(tmp_path / "file")


def test_where_torch_has_no_loading_without_data(tmp_path, monkeypatch):
    monkeypatch.setattr(torch_file, "_META", False)
    tensors = {"a": torch.randn(5, 3), "b": torch.randn(5, 3).t(), "c": torch.nn.Parameter(torch.ones(2))}
    torch.save(tensors, tmp_path / "file")

    assert all(alike(entry, tensors[name].detach()) for name, entry in read(tmp_path / "file").items())


def test_a_sharded_checkpoint_and_a_folder(tmp_path):
    shards = {"a.safetensors": {"a": torch.ones(1)}, "b.safetensors": {"b": torch.ones(2), "c": torch.ones(3)}}
    for name, tensors in shards.items():
        save_file(tensors, tmp_path / name)
    index = {"metadata": {}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors", "c": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    assert list(read(tmp_path / "model.safetensors.index.json")) == ["a", "b", "c"]

    (tmp_path / "config.json").write_text('{"hidden_size": 3}')
    (tmp_path / "README.md").touch()
    (tmp_path / "code.pkl").write_bytes(b"\x80\x04N.")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    np.save(tmp_path / "deep" / "d.npy", np.ones(4))
    np.save(tmp_path / "deep" / "deeper" / "e.npy", np.ones(5))
    found = list(entries(tmp_path))
    assert [(entry.name, entry.shape) for entry in found] == [("a", (1,)), ("b", (2,)), ("c", (3,)), ("", (4,))]
    assert [os.path.basename(entry.path) for entry in found] == ["a.safetensors", *["b.safetensors"] * 2, "d.npy"]  # noqa: PTH119

    (tmp_path / "b.safetensors").unlink()
    with pytest.raises(FileError, match=r"b\.safetensors', which does not exist"):
        list(entries(tmp_path))


def test_rows_that_are_not_there(tmp_path):
    np.savez(tmp_path / "file", table=np.ones((3, 2)), point=np.array(1))
    found = read(tmp_path / "file.npz")

    for start, stop in [(-1, 2), (2, 1), (0, 4)]:
        with pytest.raises(InputError, match=f"got start={start} and stop={stop}, but wanted 0 <= start <= stop <= 3"):
            found["table"].rows(start, stop)
    with pytest.raises(InputError, match="call load"):
        found["point"].rows(0, 1)
    with pytest.raises(DtypeError, match="got path=3 of type int"):
        entries(3)
    assert found["table"] == Entry("table", (3, 2), torch.float64, str(tmp_path / "file.npz"), None)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["npy", "npz", "torch", "safetensors"])
def test_rows_read_no_more_than_they_need(tmp_path, monkeypatch, kind, order):
    array = np.asarray(np.random.default_rng(0).standard_normal((40_000, 8)), order=order)
    path, table = tmp_path / kind, torch.from_numpy(array)
    if kind == "safetensors":
        save_file({"": table.contiguous()}, path)
    elif kind == "torch":
        torch.save(table, path)
    else:
        with path.open("wb") as file:
            np.save(file, array) if kind == "npy" else np.savez(file, table=array)
    # A stream would read what comes before.
    monkeypatch.setattr(numpy_file, "streaming", pytest.fail)
    (entry,) = entries(path)
    counted = []
    fully = files.read_fully
    for module in (files, zip_file):
        monkeypatch.setattr(module, "read_fully", lambda *args: counted.append(len(args[1])) or fully(*args))

    assert torch.equal(entry.rows(1000, 1003), table[1000:1003])
    assert sum(counted) == 3 * 8 * 8


def test_an_entry_keeps_to_the_file_that_was_listed(tmp_path):
    np.save(tmp_path / "file.npy", np.ones(3))
    (entry,) = entries(tmp_path / "file.npy")
    np.save(tmp_path / "file.npy", np.ones(4))

    with pytest.raises(FileError, match="which changed while it was read"):
        entry.load()


PROBE = """
    import json, os, sys, time
    import torch
    from posenc.readers import entries
    def peak():
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
    torch.zeros(1).add(1)
    before, began = peak(), time.process_time()
    found = list(entries(sys.argv[1]))
    listed, listing = peak() - before, time.process_time() - began
    rows = [entry.rows(0, 8) for entry in found] + [entry.load() for entry in found if entry.name == "pe"]
    print(json.dumps([len(found), listing, listed, time.process_time() - began, peak() - before]))
"""


def probe(path):
    """Entries, then seconds of work and megabytes to list them, and to read what identifying needs besides."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(PROBE), str(path)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=env, timeout=120).stdout)


@pytest.mark.slow
def test_a_big_file_with_one_table(tmp_path):
    rows = 122_070
    big, small = rows * 4096 * 4, 512 * 64 * 4
    header = {
        "big": {"dtype": "F32", "shape": [rows, 4096], "data_offsets": [0, big]},
        "pe": {"dtype": "F32", "shape": [512, 64], "data_offsets": [big, big + small]},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "big.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + big + small)

    count, _, _, seconds, megabytes = probe(path)
    assert count == 2
    assert seconds < 2
    assert megabytes < 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["safetensors", "torch", "npz"])
def test_ten_thousand_tensors(tmp_path, kind):
    tensors = {f"layers.{i}.weight": torch.full((8, 4), float(i)) for i in range(10_000)}
    path = tmp_path / "many.npz"
    if kind == "npz":
        np.savez(path, **{name: tensor.numpy() for name, tensor in tensors.items()})
    else:
        {"safetensors": save_file, "torch": torch.save}[kind](tensors, path)

    count, listing, listed, _, megabytes = probe(path)
    assert count == 10_000
    # On a quiet machine 0.3, 1.0 and 0.5 s, most of the second torch.load's own; the bound is for busy ones.
    assert listing < 4
    assert listed < megabytes < 100

"""Devices that are not there, and sizes that no memory holds: each door tells one from the other."""

import json
import subprocess
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import posenc
from posenc.errors import InputError, PosencError
from posenc.positions import (
    decoding_positions,
    grid_positions,
    last_positions,
    rolling_positions,
    shard_indices,
)

# None of them is on any machine of ours: a hundredth GPU, and kinds of devices that torch has a name for and no code.
MISSING = ["cuda:99", "mps:99", "xpu:99", "hpu", "fpga", "privateuseone"]
MARIAN = posenc.conventions["marian"].as_released()
DOORS = {
    "table": lambda device: posenc.table(4, 8, device=device),
    "encode": lambda device: posenc.encode(torch.arange(4), 8, device=device),
    "encode a list": lambda device: posenc.encode([1, 2], 8, device=device),
    "encode as released": lambda device: posenc.encode([1, 2], 8, MARIAN, device=device),
    "grid": lambda device: posenc.grid((4, 4), 16, device=device),
    "layer": lambda device: posenc.PositionalEncoding(8, device=device),
    "learned": lambda device: posenc.LearnedPositionalEmbedding(8, 8, device=device),
    "sequence": lambda device: posenc.SequenceEmbedding(8, 8, device=device),
    "timestep": lambda device: posenc.TimestepEmbedding(8, device=device),
    "alibi": lambda device: posenc.AlibiBias(4, device=device),
    "t5": lambda device: posenc.RelativePositionBias(4, device=device),
    "block": lambda device: posenc.EncoderBlock(8, 2, 16, device=device),
    "lengths": lambda device: posenc.positions_from_lengths([2, 3], device=device),
    "shard": lambda device: posenc.shard_positions(8, 0, 2, device=device),
    "shard of documents": lambda device: posenc.shard_positions(8, 0, 2, lengths=[4, 4], device=device),
    "shard indices": lambda device: shard_indices(8, 0, 2, device=device),
    "decoding": lambda device: decoding_positions(3, device=device),
    "last": lambda device: last_positions(3, 5, device=device),
    "rolling": lambda device: rolling_positions(3, 5, device=device),
    "grid positions": lambda device: grid_positions((2, 3), device=device),
}  # fmt: skip
# 2^40 to 2^62 numbers, with sums and products of sizes beyond int64.
TOO_LARGE = {
    "table": lambda: posenc.table(10**12, 512),
    "table, sizes overflow": lambda: posenc.table(2**62, 512),
    "table of several kinds of columns": lambda: posenc.table(10**12, 512, "tensor2tensor"),
    "encode": lambda: posenc.encode(torch.tensor([0]).expand(10**7, 10**5), 512),
    "grid": lambda: posenc.grid((10**6, 10**6), 512),
    "layer": lambda: posenc.PositionalEncoding(512, max_len=10**12),
    "learned": lambda: posenc.LearnedPositionalEmbedding(10**12, 512),
    "learned, resized": lambda: posenc.LearnedPositionalEmbedding(8, 512).resize(10**12, "draw"),
    "sequence": lambda: posenc.SequenceEmbedding(2**62, 8),
    "sequence, its bytes fit int64": lambda: posenc.SequenceEmbedding(10**12, 512),
    "alibi": lambda: posenc.AlibiBias(8)(10**7, 10**7),
    "t5": lambda: posenc.RelativePositionBias(8)(10**7, 10**7),
    "t5, heads": lambda: posenc.RelativePositionBias(2**60),
    "block, causal": lambda: posenc.EncoderBlock(2, 1, 2)(torch.zeros(1, 2).expand(10**8, 2), attend="causal"),
    "lengths": lambda: posenc.positions_from_lengths([10**15]),
    "shard": lambda: posenc.shard_positions(2**62, 0, 2),
    "grid positions": lambda: grid_positions((10**7, 10**7)),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("device", MISSING)
def test_a_device_that_is_not_there_is_named(door, device):
    with pytest.raises(InputError) as caught:
        DOORS[door](device)

    assert str(caught.value).startswith(f"got device={device!r} (")
    assert 'wanted a device of this machine and of this build of torch; pass device="cpu"' in str(caught.value)
    assert "smaller" not in str(caught.value)


@pytest.mark.parametrize("door", TOO_LARGE)
def test_what_no_memory_holds_is_told_by_its_size(door):
    with pytest.raises(InputError, match=r" of shape \(.+\) and torch\.\w+, [\d,]+\.\d GiB, but wanted one that"):
        TOO_LARGE[door]()


def test_the_size_is_that_of_the_result():
    # 10^12 rows of 512 numbers of 4 bytes are 2.048e15 bytes, over 2^30.
    with pytest.raises(
        InputError, match=r"got a table of shape \(1000000000000, 512\) and torch.float32, 1,907,348.6 GiB"
    ):
        posenc.table(10**12, 512)
    with pytest.raises(InputError, match=r"torch.float64, 3,814,697.3 GiB"):
        posenc.table(10**12, 512, dtype=torch.float64)


ON_THE_DEFAULT = ["table", "encode a list", "grid", "layer", "learned", "sequence", "alibi", "t5", "block", "decoding"]


@pytest.fixture(scope="module")
def said_of_a_default():
    """What each door says where the default device is not there, asked in one process: door -> class and message."""
    code = f"""
import json, torch
from tests.test_missing_devices import DOORS
torch.set_default_device("cuda:99")
said = {{}}
for door in {ON_THE_DEFAULT!r}:
    try:
        DOORS[door](None)
    except Exception as error:
        said[door] = f"{{type(error).__name__}} {{error}}"
print(json.dumps(said))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("door", ON_THE_DEFAULT)
def test_a_default_device_that_is_not_there_is_named(door, said_of_a_default):
    assert said_of_a_default[door].startswith("InputError got torch's default device, cuda:99 (")


def test_a_default_device_without_an_index_is_refused_too():
    """torch asks such a device for its index when it is named, which is an error of its own."""
    code = """
import torch, posenc
torch.set_default_device("hpu")
try:
    posenc.table(3, 8)
except posenc.errors.InputError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout.startswith("got torch's default device"), run.stdout + run.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_default_device_of_another_build_is_refused_too():
    code = """
import torch, posenc
torch.set_default_device("cuda")
for door in (lambda: posenc.table(3, 8), lambda: posenc.PositionalEncoding(8)):
    try:
        door()
    except posenc.errors.InputError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout.count("got torch's default device") == 2, run.stdout + run.stderr


@pytest.mark.parametrize("device", [2**63, -1, "gpu", 1.5, ["cpu"], "cuda:x", b"\xff"])
def test_what_names_no_device_is_refused(device):
    for door in ("table", "layer", "alibi", "lengths"):
        with pytest.raises(PosencError, match="but wanted a device of torch"):
            DOORS[door](device)


SCARCE = {
    "shift_matrix": ("torch.zeros", lambda: posenc.shift_matrix(1, 8), r"a matrix of shape \(8, 8\) and torch.float64"),
    "block": ("torch.nn.Linear", lambda: posenc.EncoderBlock(8, 2), r"a weight of shape \(2048, 8\)"),
    "table": ("posenc.encoding.values.tabulate", lambda: posenc.table(300, 8), r"a table of shape \(300, 8\)"),
    "encode": ("posenc.encoding.values.render", lambda: posenc.encode([1, 2], 8), r"encodings of shape \(2, 8\)"),
}


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")], ids=repr)
@pytest.mark.parametrize("door", SCARCE)
def test_memory_that_runs_out_on_the_way_is_told_too(door, error, monkeypatch):
    place, call, what = SCARCE[door]

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(place, fails)
    with pytest.raises(InputError, match=rf"^got {what}.+ GiB, but wanted one that the memory holds"):
        call()


def test_other_errors_of_torch_stay_what_they_are(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("another fault")

    monkeypatch.setattr("posenc.encoding.values.tabulate", fails)
    with pytest.raises(RuntimeError, match="another fault"):
        posenc.table(3, 8)


@pytest.mark.parametrize("door", DOORS)
def test_meta_and_fake_tensors_are_made_as_ever(door):
    DOORS[door]("meta")
    if door != "encode as released":
        with FakeTensorMode():
            DOORS[door]("cpu")


@pytest.mark.parametrize("door", ["table", "encode", "grid", "lengths", "shard", "decoding", "grid positions"])
def test_doors_with_a_device_are_one_graph(door):
    torch.compiler.reset()
    got = torch.compile(lambda: DOORS[door]("cpu"), fullgraph=True, backend="aot_eager")()

    assert torch.equal(got, DOORS[door]("cpu"))

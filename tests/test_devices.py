"""Devices that are not the CPU, as far as they can be played here: meta stands for one without float64."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import posenc
from posenc import positions
from posenc.encoding import arguments


class WithoutFloat64(TorchDispatchMode):
    """Raises, as such a device would, wherever a float64 tensor comes to be on meta."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor) and leaf.is_meta and leaf.dtype == torch.float64:
                raise TypeError("this device has no float64")
        return out


@pytest.fixture
def _poor_device(monkeypatch):
    monkeypatch.setattr(arguments, "WITHOUT_FLOAT64", {"meta"})
    monkeypatch.setattr("posenc.modules.positional.WITHOUT_FLOAT64", {"meta"})
    # A meta tensor has no values to copy: let it have these.
    cpu = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda t: torch.zeros(t.shape, dtype=t.dtype) if t.is_meta else cpu(t))
    with WithoutFloat64():
        yield


def test_the_stand_in_bites():
    with WithoutFloat64(), pytest.raises(TypeError, match="no float64"):
        torch.zeros(2, dtype=torch.float64, device="meta")
    with WithoutFloat64(), pytest.raises(TypeError, match="no float64"):
        posenc.PositionalEncoding(16)(torch.zeros(1, 3, 16, device="meta"), offset=9000)


@pytest.mark.usefixtures("_poor_device")
def test_a_device_without_float64_gets_its_rows_from_the_cpu():
    layer = posenc.PositionalEncoding(16, max_len=8)
    x = torch.zeros(2, 5, 16, device="meta")
    arguments_ = [
        {},
        {"offset": 100},
        {"offset": torch.zeros(2, dtype=torch.int64, device="meta")},
        {"positions": torch.zeros(2, 5, dtype=torch.int64, device="meta")},
        {"positions": torch.zeros(5, device="meta")},
    ]
    for options in arguments_:
        assert layer(x, **options).device.type == "meta"
    positions = torch.zeros(3, dtype=torch.int64, device="meta")
    assert posenc.encode(positions, 16).device.type == "meta"
    assert posenc.shift(torch.zeros(3, 16, device="meta"), 2).device.type == "meta"
    assert layer.to("meta").pe.is_meta


def test_results_go_where_they_are_asked_for():
    assert posenc.encode(torch.arange(3), 8, device="meta").shape == (3, 8)
    assert posenc.table(3, 8, device="meta").is_meta
    assert posenc.encode(torch.arange(3, device="meta"), 8).is_meta
    with torch.device("meta"):
        assert posenc.table(3, 8).is_meta
        assert posenc.encode([1, 2], 8).is_meta
        assert torch.equal(
            posenc.encode(torch.tensor([1, 2], device="cpu"), 8), posenc.table(2, 8, start=1, device="cpu")
        )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_gpu_is_at_most_one_unit_away(dtype):
    positions = torch.randint(-(2**62), 2**62, (1000,))
    unit = torch.finfo(dtype).eps / 2

    got = posenc.encode(positions.cuda(), 64, dtype=dtype).cpu()

    assert (got.double() - posenc.encode(positions, 64, dtype=dtype).double()).abs().max() <= unit


def test_positions_are_where_they_are_asked_for():
    for made in (
        positions.decoding_positions(3, device="meta"),
        positions.last_positions(2, 5, device="meta"),
        positions.rolling_positions(3, 4, device="meta"),
        posenc.shard_positions(8, 0, 2, device="meta"),
        posenc.shard_positions(8, 0, 2, lengths=[4, 4], cut="each", device="meta"),
        posenc.positions_from_lengths([2, 3], device="meta"),
        positions.grid_positions((2, 3), device="meta"),
    ):
        assert made.is_meta
    with torch.device("meta"):
        assert positions.decoding_positions(3).is_meta
        assert posenc.positions_from_lengths([2, 3]).is_meta

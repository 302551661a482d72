"""What `grid` takes and refuses, where its result lands, and that it runs inside a graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import posenc
from posenc import Convention, conventions, encode, grid
from posenc.errors import ConventionError, DtypeError, InputError

REFUSED = [
    ({"sizes": 14}, DtypeError, r"got sizes of type int, but wanted a tuple of ints for \(row, column\); pass sizes="),
    ({"sizes": "34"}, DtypeError, "sizes of type str"),
    ({"sizes": torch.tensor([3, 4])}, DtypeError, "sizes of type Tensor"),
    ({"sizes": None}, DtypeError, "sizes of type NoneType"),
    ({"sizes": {3, 4}}, DtypeError, "sizes of type set"),
    ({"sizes": (3,)}, InputError, r"got 1 sizes, but wanted one for each of \(row, column\) in convention 'mae-2d'"),
    ({"sizes": (3, 4, 5)}, InputError, "got 3 sizes"),
    ({"sizes": ()}, InputError, "got 0 sizes"),
    ({"sizes": (3, -1)}, InputError, r"sizes\[1\]=-1"),
    ({"sizes": (3, True)}, DtypeError, r"sizes\[1\]=True"),
    ({"sizes": (3.0, 4)}, DtypeError, r"sizes\[0\]=3.0"),
    ({"sizes": ("3", 4)}, DtypeError, r"sizes\[0\]='3'"),
    ({"sizes": (3, 2**63)}, InputError, r"sizes\[1\]=9223372036854775808"),
    ({"sizes": (2**40, 2**40)}, InputError, "memory holds"),
    ({"sizes": (2**62, 2)}, InputError, "memory holds"),
    ({"convention": conventions["transformer"]}, InputError, "wanted one for each of its one axis in convention 'tr"),
    ({"convention": "no-such"}, ConventionError, "no-such"),
    ({"convention": 3}, DtypeError, "convention=3"),
    ({"convention": "sam"}, ConventionError, "with_frequencies"),
    ({"dim": 0}, InputError, "dim=0"),
    ({"dim": 6}, ConventionError, "multiple of 4"),
    ({"dtype": torch.int64}, DtypeError, "int64"),
    ({"dtype": "float32"}, DtypeError, "float32"),
    ({"device": "nowhere"}, InputError, "nowhere"),
    ({"trained_sizes": 0}, InputError, "trained_sizes=0"),
    ({"trained_sizes": (14, 0)}, InputError, r"trained_sizes\[1\]=0"),
    ({"trained_sizes": (14,)}, InputError, r"trained_sizes=\(14,\)"),
    ({"trained_sizes": True}, InputError, "trained_sizes=True"),
    ({"trained_sizes": 14.5}, InputError, "trained_sizes=14.5"),
    ({"trained_sizes": "14"}, InputError, "trained_sizes='14'"),
    ({"trained_sizes": 2**64}, InputError, "trained_sizes=18446744073709551616"),
    ({"trained_sizes": 2**62 + 1}, ConventionError, "trained_size=4611686018427387905"),
    ({"convention": Convention(axes=("row", "column"), trained_size=10**30)}, ConventionError, "trained_size=1000"),
    ({"trained_sizes": 14, "convention": "detr-2d-normalized"}, ConventionError, "relative to the map already"),
    ({"trained_sizes": 14, "convention": "perceiver", "dim": 10}, ConventionError, "relative to the map already"),
    ({"trained_sizes": 14, "convention": conventions["mae-2d"].as_released()}, ConventionError, "no arithmetic"),
]


@pytest.mark.parametrize(("arguments", "error", "words"), REFUSED, ids=[str(case[0]) for case in REFUSED])
def test_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        grid(**{"sizes": (3, 4), "dim": 8, **arguments})


def test_released_diffusers_takes_another_base():
    released = conventions["diffusers-2d"].as_released()

    assert torch.equal(grid((4, 4), 16, released, trained_sizes=16), grid((4, 4), 16, released))
    assert torch.equal(grid((4, 4), 16, released, trained_sizes=(4, 4)), grid((4, 4), 16, "dit-2d"))


def test_empty_maps():
    for name in ("mae-2d", "detr-2d-normalized", "timm-fourier-log"):
        assert grid((0, 4), 16, name).shape == (0, 4, 16)
        assert grid((3, 0), 16, name).shape == (3, 0, 16)


def test_sizes_of_other_kinds():
    wanted = grid((3, 4), 8)
    for sizes in ([3, 4], torch.Size([3, 4]), (np.int32(3), np.int64(4)), torch.zeros(1, 3, 4).shape[-2:]):
        assert torch.equal(grid(sizes, 8), wanted)


def test_dtype_and_device():
    assert grid((2, 2), 8).dtype == torch.float32
    assert grid((2, 2), 8, dtype=torch.float16).dtype == torch.float16
    assert grid((2, 2), 8, device="meta").is_meta
    assert grid((2**20, 2**20), 8, device="meta").shape == (2**20, 2**20, 8)
    with torch.device("meta"):
        assert grid((2, 2), 8).is_meta
        assert torch.equal(grid((2, 2), 8, device="cpu"), grid((2, 2), 8, device="cpu"))
    torch.set_default_dtype(torch.float64)
    try:
        assert grid((2, 2), 8).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_no_graph_hangs_on_it():
    made = grid((2, 2), 8)
    assert not made.requires_grad
    made.add_(1)
    assert torch.equal(grid((2, 2), 8) + 1, made)
    with torch.inference_mode():
        grid((2, 2), 8, "fairseq2-2d")
    grid((2, 2), 8, "fairseq2-2d").requires_grad_()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: grid((3, 4), 16) + x[0, 0],
        lambda x: grid(x.shape, 16, "detr-2d-normalized") + x[0, 0],
        lambda x: grid([x.shape[0], 4], 18, "hf-perceiver", dtype=torch.float16),
        lambda x: grid(x.shape, 16, posenc.Convention(axes=("row", "column"), gain=2), trained_sizes=14),
    ],
    ids=["constant", "fractions", "ends", "trained"],
)
def test_maps_in_one_graph(call):
    torch._dynamo.reset()
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)

    for shape in ((3, 4), (5, 6), (7, 6)):
        x = torch.ones(shape)
        assert torch.equal(compiled(x), call(x))


def test_a_map_of_a_graph_may_be_written_to():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: grid((3, 4), 16).add_(x), backend="aot_eager", fullgraph=True)

    for _ in range(2):
        assert torch.equal(compiled(torch.ones(16)), grid((3, 4), 16) + 1)


def test_a_map_inside_a_transform():
    assert torch.equal(torch.func.grad(lambda w: (w * grid((3, 4), 16)).sum())(torch.ones(3, 4, 16)), grid((3, 4), 16))


def test_a_map_for_a_tracer_has_no_values():
    with FakeTensorMode():
        assert grid((3, 4), 16, "sam2-2d").shape == (3, 4, 16)
    assert torch.equal(grid((3, 4), 16, "sam2-2d")[1, 2], encode([2 / (3 + 1e-6), 3 / (4 + 1e-6)], 16, "sam2-2d"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_map_on_the_gpu_has_the_values_of_the_cpu():
    for name in ("mae-2d", "detr-2d-normalized"):
        assert torch.equal(grid((20, 30), 64, name, device="cuda").cpu(), grid((20, 30), 64, name))

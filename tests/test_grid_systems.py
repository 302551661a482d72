"""Maps of real systems: by name within the error that the system has, as released bit for bit."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch

from posenc import conventions, encode, grid
from posenc.recipes import released_coordinates

SYSTEMS = Path(__file__).parent / "data" / "systems"


def records() -> list:
    found = []
    for path in sorted(SYSTEMS.glob("*.json")):
        convention = conventions[path.stem] if conventions.canonical(path.stem) else None
        if convention is None or len(convention.axes) < 2 or path.stem.startswith(("rope_", "detr_sine_2d_padded")):
            continue
        for record in json.loads(path.read_text(encoding="utf-8")):
            positions = [p for p in record["positions"] if p is not None]
            whole = all(isinstance(x, int) for p in positions for x in p)
            # The grids of those whose positions are coordinates have 3 rows and 5 columns; others are points.
            sizes = [max(axis) + 1 for axis in zip(*positions, strict=True)] if whole else [3, 5]
            if math.prod(sizes) == len(positions):
                found.append(pytest.param(path.stem, record, sizes, whole, id=f"{path.stem}-{record['dim']}"))
    return found


@pytest.mark.parametrize(("stem", "record", "sizes", "whole"), records())
def test_maps_of_real_systems(stem, record, sizes, whole):
    convention, dtype = conventions[stem], getattr(torch, record["dtype"])
    if convention.spacing == "explicit":
        convention = convention.with_frequencies(torch.tensor(record["gaussian_matrix"]))
    if "resolutions" in record:
        convention = dataclasses.replace(convention, last=tuple(math.pi * size / 2 for size in record["resolutions"]))
    positions = [p for p in record["positions"] if p is not None]
    skipped = len(record["positions"]) - len(positions)
    values = torch.tensor(record["values"], dtype=torch.float64).to(dtype)

    def rows(convention):
        made = grid(sizes, record["dim"], convention, dtype=dtype)
        # Some systems list the map column by column: each row is found by its own coordinates.
        return made[tuple(torch.tensor(positions).T)] if whole else made.flatten(0, -2)

    # Class rows are zeros before the map, and joined by the caller.
    assert convention.zero_rows == tuple(range(skipped))
    assert not values[:skipped].any()
    # What the system's own libraries add beyond torch, see tests/data/systems.
    allowed = {
        "big_vision_posemb_sincos_2d": 1.5e-8,
        "perceiver_deepmind": 8.1e-7,
        "tensor2tensor_timing_signal_nd": 3e-8,
    }
    released = (rows(convention.as_released()).double() - values[skipped:].double()).abs().max().item()
    assert released <= allowed.get(stem, 0)
    # Of the phase, in float32, up to 352 radians.
    exact = (rows(convention).double() - values[skipped:].double()).abs().max().item()
    assert exact <= (2.2e-5 if convention.cells == "ends" else 9e-7)


def test_there_are_records_to_read():
    assert len(records()) > 50
    assert {"sam2_sine_2d", "hf_perceiver", "sam_position_embedding_random", "diffusers_2d_sincos_nonsquare"} <= {
        param.values[0] for param in records()
    }


@pytest.mark.parametrize("size", [3, 31, 32, 100, 1333])
def test_released_coordinates_are_those_of_the_systems(size):
    # DETR: a cumulative sum of float32 ones, divided by its last value and a small number.
    count = torch.ones(size).cumsum(0, dtype=torch.float32)
    assert torch.equal(released_coordinates("fractions", size, None, 1, 1e-6), count / (count[-1:] + 1e-6))
    # Deformable DETR, and SAM.
    moved = (count - 0.5) / (count[-1:] + 1e-6)
    assert torch.equal(released_coordinates("fractions", size, None, 0.5, 1e-6), moved)
    assert torch.equal(released_coordinates("fractions", size, None, 0.5, 0), (count - 0.5) / size)
    # diffusers divides by size / base.
    scaled = torch.arange(size, dtype=torch.float32) / (size / 16)
    assert torch.equal(released_coordinates("corners", size, 16, 0, 0), scaled)
    assert torch.equal(released_coordinates("ends", size, None, 0, 0), torch.linspace(-1.0, 1.0, size))
    assert released_coordinates("corners", size, None, 0, 0).dtype == torch.int64


def test_released_coordinates_do_not_hang_on_the_default_dtype():
    names = ["detr-2d-normalized", "diffusers-2d", "timm-fourier-log"]
    before = [grid((3, 40), 16, conventions[name].as_released(), dtype=torch.float32) for name in names]
    torch.set_default_dtype(torch.float64)
    try:
        after = [grid((3, 40), 16, conventions[name].as_released(), dtype=torch.float32) for name in names]
    finally:
        torch.set_default_dtype(torch.float32)

    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("index", [0, 1])
def test_padded_map_of_detr(index):
    record = json.loads((SYSTEMS / "detr_sine_2d_padded.json").read_text(encoding="utf-8"))[index]
    valid = ~torch.tensor(record["mask_is_padding"], dtype=torch.bool)
    rows, columns = valid.cumsum(0), valid.cumsum(1)
    fractions = torch.stack([rows / (rows[-1:] + 1e-6), columns / (columns[:, -1:] + 1e-6)], -1)
    values = torch.tensor(record["values"]).view(3, 5, -1)

    released = encode(fractions, record["dim"], conventions["detr_sine_2d_padded"].as_released())

    assert torch.equal(released, values)
    exact = encode(fractions, record["dim"], "detr-2d-normalized")
    assert (exact - values).abs().max() <= 5e-7
    # Where nothing is padding, it is the map of the valid part.
    assert torch.allclose(exact[:2, :4], grid((2, 4), record["dim"], "detr-2d-normalized"), atol=5e-7)

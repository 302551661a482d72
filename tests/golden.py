"""The records of real systems in tests/data/systems, and how each is fed to the convention of its name."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch
from tests.judge import FORMATS, angle, places

from posenc import Convention, conventions, encode
from posenc.recipes import released_ladder

FOLDER = Path(__file__).parent / "data" / "systems"
DTYPES = {"float32": torch.float32, "float64": torch.float64}
# These turn queries and keys, scale ladders or add biases: test_rotate, test_alibi and test_relative read them.
ELSEWHERE = ("rope_", "alibi_", "t5_")
# TensorFlow, JAX and numpy round otherwise than torch: these are within the error that their records hold.
OTHER_KERNELS = {
    "big_vision_posemb_sincos_2d",
    "flax_gemma_add_positional_embedding",
    "maxtext",
    "nerf_embedder",
    "perceiver_deepmind",
    "tensor2tensor_given_position",
    "tensor2tensor_timing_signal_1d",
    "tensor2tensor_timing_signal_1d_min4_start3",
    "tensor2tensor_timing_signal_nd",
}
STEMS = sorted(path.stem for path in FOLDER.glob("*.json") if not path.stem.startswith(ELSEWHERE))


@dataclass(frozen=True)
class Record:
    """What one system put out at one width.

    convention: that of its name, with the frequencies or resolutions of the record; kept: the rows of `values` that
    encode a position; released, exact: their positions as the system's float32 has them, and as mathematics has;
    recipe_error, system_error: how far the record may be from its convention as released, and by mathematics.
    """

    stem: str
    dim: int
    convention: Convention
    values: torch.Tensor
    kept: list[int]
    released: torch.Tensor
    exact: torch.Tensor
    recipe_error: float
    system_error: float
    said: dict

    @property
    def rows(self) -> torch.Tensor:
        """The values of the rows that encode a position."""
        return self.values[self.kept]

    @property
    def unit(self) -> float:
        """One unit in the last place just below 1, of the dtype that the system computes in."""
        return 2.0 ** -FORMATS[self.values.dtype][0]

    @property
    def label(self) -> str:
        """What a test calls it."""
        return f"{self.stem}-{self.dim}"


@cache
def read(stem: str) -> list[dict]:
    """The records of one file."""
    return json.loads((FOLDER / f"{stem}.json").read_text(encoding="utf-8"))


def convention_of(stem: str, said: dict) -> Convention:
    """The convention of a system's name, with what the record says about this one model."""
    named = conventions[stem]
    if "gaussian_matrix" in said:
        return named.with_frequencies(torch.tensor(said["gaussian_matrix"], dtype=torch.float32))
    if named.spacing == "explicit":
        # The record has radians; the system holds turns, in float32.
        turns = torch.tensor(said["params"]["freqs"], dtype=torch.float64) / (2 * math.pi)
        return named.with_frequencies(turns.float())
    if "resolutions" in said:
        return replace(named, last=tuple(math.pi * size / 2 for size in said["resolutions"]))
    return named


def padded_fractions(said: dict, dtype: torch.dtype) -> torch.Tensor:
    """Fractions (cells, 2) of the valid cells of each column and row that DETR counts in a padded map."""
    valid = ~torch.tensor(said["mask_is_padding"], dtype=torch.bool)
    counts = [valid.cumsum(axis, dtype=dtype) for axis in (0, 1)]
    ends = [counts[0][-1:].expand_as(valid), counts[1][:, -1:].expand_as(valid)]
    return torch.stack([(c / (end + 1e-6)).flatten() for c, end in zip(counts, ends, strict=True)], -1)


def coordinates(stem: str, said: dict, convention: Convention, places: list, dtype: torch.dtype) -> torch.Tensor:
    """Positions as the convention takes them, computed in the dtype of the system or in float64."""
    at = torch.tensor(places, dtype=torch.float64 if isinstance(places[0], list) else None)
    sizes = torch.tensor(said.get("grid") or [1, 1], dtype=dtype)
    if "mask_is_padding" in said:
        return padded_fractions(said, dtype)
    if stem == "diffusers_2d_sincos":
        return at / (sizes.double() / convention.trained_size)
    if convention.cells == "fractions":
        return (at.to(dtype) + convention.cell_origin) / (sizes + convention.cell_epsilon)
    if stem.startswith("timm_fourier"):
        lines = [torch.linspace(-1, 1, size, dtype=dtype) for size in said["grid"]]
        return torch.stack([line[at[:, axis].long()] for axis, line in enumerate(lines)], -1)
    return at


def records(stem: str) -> Iterator[Record]:
    """The records of one file, ready to be compared."""
    for said in read(stem):
        convention = convention_of(stem, said)
        values = torch.tensor(said["values"], dtype=torch.float64).to(DTYPES[said["dtype"]])
        kept = [row for row, position in enumerate(said["positions"]) if position is not None]
        places = [said["positions"][row] for row in kept]
        released, exact = (
            coordinates(stem, said, convention, places, dtype) for dtype in (torch.float32, torch.float64)
        )
        recipe_error = said["unified_float32_recipe_max_abs_error"] if stem in OTHER_KERNELS else 0.0
        errors = recipe_error, said["unified_float64_max_abs_error"]
        yield Record(stem, said["dim"], convention, values, kept, released, exact, *errors, said)


KERNELS = FOLDER.parent / "kernels.json"
# What a phase may differ by, relative, where another kernel rounds a frequency to the neighbouring float32.
PHASE_ERROR = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def bits(tensor: torch.Tensor) -> str:
    """The bytes of a tensor of one axis, in hexadecimal."""
    return tensor.numpy().tobytes().hex()


def ladders(record: Record) -> list[str]:
    """The bits of the ladders that this machine's kernels make by the recipe of a record."""
    plan = record.convention.as_released().plan(record.dim)
    made = [released_ladder(ladder, plan.recipe) for block in plan.blocks for ladder in block.ladders]
    return sorted({bits(ladder) for ladder in made})


@cache
def waves() -> dict[str, str]:
    """Digests of the sines and cosines that this machine's kernels make of 4096 phases."""
    phases = torch.arange(-2048, 2048, dtype=torch.float64) * 0.7310585786300049
    made = {
        f"{turn.__name__} {kind}": turn(phases.to(DTYPES[kind])) for turn in (torch.sin, torch.cos) for kind in DTYPES
    }
    return {name: sha256(values.numpy().tobytes()).hexdigest() for name, values in made.items()}


@cache
def known() -> dict:
    """The bits that the kernels of the recording machine made."""
    return json.loads(KERNELS.read_text(encoding="utf-8"))


def record_kernels() -> None:
    """Write down the bits that this machine's kernels make, beside which all others are compared."""
    made = {record.label: ladders(record) for stem in STEMS for record in records(stem)}
    lines = [f"{json.dumps(label)}: {json.dumps(said)}" for label, said in made.items()]
    KERNELS.write_text("{\n" + ",\n".join([f'"waves": {json.dumps(waves())}', *lines]) + "\n}\n", encoding="utf-8")


def is_wide(record: Record) -> bool:
    """Whether the system takes sines of float64 phases."""
    return record.convention.released_as in ("float64", "float64-div")


def how(record: Record) -> str:
    """How a record is compared: bit for bit where this machine's kernels are those of the recording machine."""
    if ladders(record) != known()[record.label]:
        return "by phase: another ladder"
    ours, theirs = waves(), known()["waves"]
    if any(ours[name] != theirs[name] for name in ours if name.endswith(f"float{64 if is_wide(record) else 32}")):
        return "by phase: other sines"
    return "within the recorded error" if record.recipe_error else "bit for bit"


def phases(record: Record) -> torch.Tensor:
    """The size of the angle behind every value of a record, in radians; zero where there is none."""
    columns = places(record.dim, record.convention)
    sizes = [
        [
            abs(float(angle(place, position, record.dim, record.convention))) if place and place[0] != "input" else 0.0
            for place in columns
        ]
        for position in record.exact.tolist()
    ]
    return torch.tensor(sizes, dtype=torch.float64)


def difference(record: Record) -> torch.Tensor:
    """What the convention of a record puts out as released, less what the system put out."""
    made = encode(record.released, record.dim, record.convention.as_released(), dtype=record.values.dtype)
    return (made.double() - record.rows.double()).abs()


def check_released(record: Record, comparison: str) -> None:
    """Raise where a convention as released is not what the system put out."""
    off = difference(record)
    allowed = torch.full_like(off, record.recipe_error)
    if comparison.startswith("by phase"):
        dtype = torch.float64 if is_wide(record) else torch.float32
        allowed += phases(record) * PHASE_ERROR[dtype] + record.unit
    assert bool((off <= allowed).all()), f"{record.label} is off by {off.max().item():g}"

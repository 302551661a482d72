"""The error of real systems' own arithmetic against mathematics, beside the error of ours.

The truth is our float64 values, which `measure` holds to 1e-15 of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor

from ..convention import Convention, System, conventions, fitting_dim, systems
from ..encoding import encode
from ..encoding.grids import grid
from ..errors import ConventionError, refuse

# The table: the rows that end at each of these positions, at this width.
POSITIONS = (512, 4_096, 100_000)
ROWS = 32
DIM = 512
# 512 columns of octaves would have frequencies that nothing resolves: Fourier features are narrow.
NARROW = 64
# Coordinates that are bounded are measured over all of their range: a map of so many rows and columns, or points.
MAP = 50
POINTS = 1_000
SEED = 0

# The picture: positions up to this one, so many points for each power of ten.
FAMOUS = (
    "annotated-transformer",
    "stable-diffusion-timestep",
    "openai-whisper",
    "fairseq",
    "tensor2tensor",
    "gptj",
    "xlnet-relative",
    "detr-2d",
    "marian",
    "mae-2d",
)
FURTHEST = 10_000_000
PER_DECADE = 10
NEAR = 64
# Errors that differ by no more than this are drawn as one line, which is wider.
SAME = 0.02

Kind = Literal["positions", "coordinates"]


@dataclass(frozen=True)
class Accuracy:
    """What one system is off by as released, and what its exact convention is off by in float32.

    Of kind "positions" there is an error for each of `POSITIONS`, of "coordinates" one, over all that `where` says.
    """

    name: str
    family: str
    recipe: str
    kind: Kind
    where: str
    dim: int
    released: tuple[float, ...]
    ours: tuple[float, ...]

    def document(self) -> dict[str, Any]:
        """The same for `json`."""
        return asdict(self)


@dataclass(frozen=True)
class Curve:
    """The largest error of rows near each position: of the systems that share it, or with no names ours."""

    names: tuple[str, ...]
    positions: tuple[int, ...]
    errors: tuple[float, ...]

    def document(self) -> dict[str, Any]:
        """The same for `json`."""
        return asdict(self)


def _errors(
    released: Convention, rows: Callable[[Convention, torch.dtype], Tensor], pieces: Sequence[int] = ()
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The largest errors of rows(convention, dtype), one for each piece: as released, and exact in float32."""
    exact = replace(released, arithmetic="exact")
    truth = rows(exact, torch.float64)
    found = []
    for convention in (released, exact):
        worst = (rows(convention, torch.float32).double() - truth).abs().flatten(0, -2).amax(-1)
        found.append(tuple(part.max().item() for part in worst.split(list(pieces) or [len(worst)])))
    return found[0], found[1]


def _at(positions: Tensor, dim: int) -> Callable[[Convention, torch.dtype], Tensor]:
    """Rows of positions (n,), the same on every axis where a convention has several."""

    def rows(convention: Convention, dtype: torch.dtype) -> Tensor:
        axes = len(convention.axes)
        places = positions.unsqueeze(-1).expand(-1, axes) if axes else positions
        return encode(places, dim, convention, dtype=dtype)

    return rows


def _drawn(convention: Convention) -> Convention:
    """A convention of random frequencies with some that are drawn, as a new model of the system would."""
    if convention.spacing != "explicit" or convention.frequencies is not None:
        return convention
    generator = torch.Generator().manual_seed(SEED)
    shape = (max(1, len(convention.axes)), NARROW // 2)
    drawn = torch.randn(shape, generator=generator)
    return convention.with_frequencies(drawn if convention.axes else drawn[0])


def _bounds(system: System) -> tuple[float, float] | None:
    """The range of a system whose coordinates are bounded, but are none of a map."""
    if system.name == "pi0-timestep" or system.subject in ("box", "random"):
        return 0.0, 1.0
    return (-1.0, 1.0) if system.subject == "fourier" else None


def _released(convention: Convention) -> Convention:
    """A convention as released, without what changes no value, so that equal ones are measured once."""
    return replace(convention.as_released(), state_names=(), numbering="columns")


@lru_cache(maxsize=256)
def _measured(released: Convention, dim: int, bounds: tuple[float, float] | None) -> tuple[Any, ...]:
    """Kind, where and both errors of `Accuracy`."""
    if released.cells != "corners" or released.trained_size:
        where = f"a map of {MAP} x {MAP}"
        return "coordinates", where, *_errors(released, lambda each, dtype: grid((MAP, MAP), dim, each, dtype=dtype))
    if bounds is not None:
        # Numbers that float32 holds: what a system is given is no error of its own.
        points = torch.linspace(*bounds, POINTS, dtype=torch.float32, device="cpu")
        where = f"{POINTS} points from {bounds[0]:g} to {bounds[1]:g}"
        return "coordinates", where, *_errors(released, _at(points, dim))
    ends = torch.cat([torch.arange(end - ROWS + 1, end + 1, device="cpu") for end in POSITIONS])
    where = f"the {ROWS} rows that end there"
    return "positions", where, *_errors(released, _at(ends, dim), [ROWS] * len(POSITIONS))


def _accuracy(system: System) -> Accuracy:
    convention = _drawn(system.convention)
    dim = fitting_dim(convention, NARROW if system.subject in ("fourier", "random") else DIM)
    kind, where, released, ours = _measured(_released(convention), dim, _bounds(system))
    return Accuracy(system.name, system.family, convention.released_as or "exact", kind, where, dim, released, ours)


def measure_systems(
    names: Iterable[str] = (), *, on_system: Callable[[int, int], None] | None = None
) -> Iterator[Accuracy]:
    """How far each named system is off, all of them where no names are given; `on_system` hears how far it is.

    Rotary names have no values of their own, and are refused.

    >>> whisper = next(measure_systems(["openai-whisper"]))
    >>> [f"{error:.0e}" for error in whisper.released], max(whisper.ours) <= 2.0**-25
    (['3e-05', '2e-04', '7e-03'], True)
    """
    chosen = [systems[name] for name in names] or [each for each in systems.values() if each.family != "rotary"]
    for system in chosen:
        if system.family == "rotary":
            refuse(
                f"the accuracy of {system.name!r}, whose values are those of queries and keys",
                "a system that puts out an encoding",
                "leave the rotary names out",
                error=ConventionError,
            )
    for done, system in enumerate(chosen):
        yield _accuracy(system)
        if on_system is not None:
            on_system(done + 1, len(chosen))


def _near(point: float) -> Tensor:
    """Positions near a point, as far as half-way to its neighbours: (n,), n at most `NEAR`."""
    half = 10 ** (0.5 / PER_DECADE)
    spread = torch.linspace(point / half, point * half, NEAR, dtype=torch.float64, device="cpu")
    return torch.tensor(sorted(set(spread.round().long().tolist())), device="cpu")


def measure_curves(
    names: Sequence[str] = FAMOUS, *, on_system: Callable[[int, int], None] | None = None
) -> list[Curve]:
    """Error against position: a curve for each arithmetic, worst first, and ours as the last one.

    Positions are those after a system's own offset, so that systems which differ in their start alone are equal.
    """
    decades = len(str(FURTHEST)) - 1
    points = [10 ** (step / PER_DECADE) for step in range(decades * PER_DECADE + 1)]
    near = [_near(point) for point in points]
    places, pieces = torch.cat(near), [len(piece) for piece in near]
    shared: list[tuple[list[str], tuple[float, ...]]] = []
    ours = (0.0,) * len(points)
    for done, name in enumerate(names):
        convention = conventions[name]
        start = convention.position_offset
        shifted = places - torch.tensor(start, dtype=torch.int64)
        found, exact = _errors(_released(convention), _at(shifted, DIM), pieces)
        ours = tuple(map(max, ours, exact))
        for group, errors in shared:
            if all(abs(a - b) <= SAME * b for a, b in zip(found, errors, strict=True)):
                group.append(name)
                break
        else:
            shared.append(([name], found))
        if on_system is not None:
            on_system(done + 1, len(names))
    positions = tuple(round(point) for point in points)
    curves = [Curve(tuple(group), positions, errors) for group, errors in shared]
    return [*sorted(curves, key=lambda curve: -curve.errors[-1]), Curve((), positions, ours)]

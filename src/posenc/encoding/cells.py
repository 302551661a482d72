"""Where the cells of a map stand along one axis, by the `cells` of a convention: exact, rounded once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..convention import Convention, Plan
from ..errors import ConventionError, refuse, shown
from ..recipes import released_coordinates
from ..tracing import in_graph

# Integers up to here have a float64 of their own.
_EXACT = 1 << 53
# Beyond, twice a coordinate would leave int64.
_LARGEST = 1 << 62
# 2^27 + 1 splits a float64 into halves whose products are exact (Dekker 1971).
_SPLIT = 134217729.0


class Cells(NamedTuple):
    """What a convention says of the coordinates of cells, in plain numbers that compilers can read."""

    kind: str
    origin: float
    epsilon: float
    trained: int | None
    exact: bool

    @property
    def are_counted(self) -> bool:
        """Whether cell i stands at i."""
        return self.kind in ("corners", "first-to-last") and not self.trained


def cells_of(convention: Convention, trained: int | None) -> Cells:
    """The cells of a convention, for a map of another size than the trained one where that is given."""
    exact = convention.arithmetic == "exact"
    return Cells(convention.cells, convention.cell_origin, convention.cell_epsilon, trained, exact)


def coordinates(plan: Plan, size: int, trained: int | None) -> Tensor:
    """Where the cells of one axis stand (size,): int64, or float64, or float32 as released."""
    convention = plan.convention
    origin, epsilon = convention.cell_origin, convention.cell_epsilon
    if not plan.is_exact:
        return released_coordinates(convention.cells, size, trained, origin, epsilon)
    if trained is not None and trained > _LARGEST:
        refuse(
            f"trained_size={shown(trained)} in convention {convention.label}",
            f"a size of at most {_LARGEST}",
            "pass the number of cells that the model was trained with",
            error=ConventionError,
        )
    return _on_line(*_line(convention.cells, size, trained, origin, epsilon), size)


def _line(cells: str, size: int, trained: int | None, origin: float, epsilon: float) -> tuple[int, int, int]:
    """Integers (slope, start, divisor): cell i stands at (slope * i + start) / divisor, exactly."""
    if cells == "ends":
        # A single cell stands at the first end, as in torch.linspace.
        return (2, 1 - size, size - 1) if size > 1 else (0, -1, 1)
    if cells == "first-to-last" and trained:
        return (trained - 1, 0, size - 1) if size > 1 else (0, 0, 1)
    if cells == "fractions":
        (begin, below), (more, unit) = origin.as_integer_ratio(), epsilon.as_integer_ratio()
        return below * unit, begin * unit, below * (size * unit + more)
    ratio = (trained, size) if trained else (1, 1)
    return (2 * ratio[0], ratio[0], 2 * ratio[1]) if cells == "centres" else (ratio[0], 0, ratio[1])


def _on_line(slope: int, start: int, divisor: int, size: int) -> Tensor:
    """(slope * i + start) / divisor for i below size: int64 where all are integers, else float64, rounded once."""
    index = torch.arange(size, dtype=torch.int64, device="cpu")
    if slope % divisor == 0 and start % divisor == 0:
        return index * (slope // divisor) + start // divisor
    if max(abs(start), abs(slope * size + start), divisor) < _EXACT:
        return (index * slope + start).double() / divisor
    # Python divides integers of any size with one rounding.
    return torch.tensor([(slope * i + start) / divisor for i in range(size)], dtype=torch.float64, device="cpu")


def placed(index: Tensor, size: Tensor, cells: Cells) -> Tensor:
    """Cell `index` of `size` cells, int64 tensors that broadcast -> its coordinate, int64 where cells are counted.

    The same numbers as `coordinates` for sizes below 2^26, but for the fractions of a graph (see `fraction`), in
    operations that look at no value: `size` may be open in a graph, and another one in every row of a padded map. As
    released it is the system's float32.
    """
    if cells.are_counted:
        return index
    if cells.kind == "fractions":
        if cells.exact:
            return fraction(index.double(), cells.origin, size.double(), cells.epsilon)
        return (index.float() + cells.origin) / (size.float() + cells.epsilon)
    # Integers below 2^53, and one division; a single cell stands at the first end.
    if cells.kind == "ends":
        return torch.where(size > 1, (2 * index - size + 1).double() / (size - 1).clamp(min=1), -1)
    if cells.kind == "first-to-last" and cells.trained:
        return (index * (cells.trained - 1)).double() / (size - 1).clamp(min=1)
    steps = 2 if cells.kind == "centres" else 1
    places = (steps * index + steps - 1).double()
    # Nothing is divided by the zero cells of a column that is all padding.
    return places * cells.trained / (steps * size.clamp(min=1)) if cells.trained else places / steps


def _sum(a: Tensor, b: float) -> tuple[Tensor, Tensor]:
    """a + b as an unevaluated sum of two float64, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """a * b as an unevaluated sum of two float64, exactly (Dekker)."""
    total = a * b
    big, large = a * _SPLIT, b * _SPLIT
    a_high, b_high = big - (big - a), large - (large - b)
    a_low, b_low = a - a_high, b - b_high
    return total, a_low * b_low - (((total - a_high * b_high) - a_low * b_high) - a_high * b_low)


def fraction(index: Tensor, origin: float, size: Tensor, epsilon: float) -> Tensor:
    """(index + origin) / (size + epsilon), rounded once: two float64 hold each sum, and the remainder is exact.

    In a graph it is rounded three times, off by 3 units of 2^-53: Inductor writes all of this out for every digit of
    a phase, and took a minute to compile one map.
    """
    if epsilon == 0:
        size = size.clamp(min=1)
    if in_graph():
        return (index + origin) / (size + epsilon)
    above, above_rest = _sum(index, origin)
    below, below_rest = _sum(size, epsilon)
    quotient = above / below
    whole, rest = _product(quotient, below)
    remainder = ((above - whole) - rest) + (above_rest - quotient * below_rest)
    return quotient + remainder / below

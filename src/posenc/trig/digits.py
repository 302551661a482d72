"""Positions as base-256 digits above and below the point, and their values as products of prepared rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..frequency import Ladder
from .rows import ERROR_PER_ROW, RADIX, RADIX_BITS, coarse, digits_of, rows, signs_of

# What is below 2^-64 of a position is for `phase_of` to drop.
_BITS_BELOW = 64
_CHUNK_BITS = 32
# Up to so many positions are taken apart as numbers of Python: there a tensor costs more than what it holds.
_FEW = 16


class Digits(NamedTuple):
    """Positions (n,) taken apart once for all groups of pairs: 256 * block + fine + fraction.

    blocks and fractions: the digits of their sizes, from the point on; signs are +1 and -1, or None where none is
    negative. largest: the size of the largest position.
    """

    fine: Tensor
    blocks: Sequence[Tensor]
    block_signs: Tensor | None
    fractions: Sequence[Tensor]
    fraction_signs: Tensor | None
    largest: float

    @classmethod
    def of(cls, positions: Tensor) -> Digits | None:
        """The digits of int64 or finite float64 positions; None where 64 bits below the point do not hold one."""
        if len(positions) <= _FEW:
            return _of_numbers(positions.tolist())
        low, high = (bound.item() for bound in torch.aminmax(positions))
        fractions: Sequence[Tensor] = ()
        signs = None
        if positions.dtype != torch.int64:
            # Towards zero: the fraction of a small negative number would drown in 1 - fraction.
            whole = positions.trunc()
            rest = positions - whole
            positions = whole.to(torch.int64)
            if bool(rest.any()):
                below = _below(rest.abs() if low < 0 else rest)
                if below is None:
                    return None
                fractions, signs = below, signs_of(rest) if low < 0 else None
        blocks = positions >> RADIX_BITS
        most = max(abs(int(low) >> RADIX_BITS), abs(int(high) >> RADIX_BITS))
        places = digits_of(blocks, -(-most.bit_length() // RADIX_BITS))
        block_signs = signs_of(blocks) if low < 0 else None
        return cls(positions & (RADIX - 1), places, block_signs, fractions, signs, max(-low, high))

    @property
    def places(self) -> list[int]:
        """The places whose rows are multiplied."""
        return [*range(1 + len(self.blocks)), *range(-1, -1 - len(self.fractions), -1)]

    def part(self, tile: slice) -> Digits:
        """Those of some of the positions."""
        return Digits(
            self.fine[tile],
            [digit[tile] for digit in self.blocks],
            None if self.block_signs is None else self.block_signs[tile],
            [digit[tile] for digit in self.fractions],
            None if self.fraction_signs is None else self.fraction_signs[tile],
            self.largest,
        )

    def product(self, ladder: Ladder, group: slice, product: Tensor, factor: Tensor) -> tuple[Tensor, float]:
        """Values (n, pairs of the group, 2), sine and cosine, and their error bound.

        They are in `product`, and `factor` is written over, both complex128 (n, pairs of the group).
        """
        torch.index_select(rows(ladder, group, 0), 0, self.fine, out=product)
        for digits, signs, step in (
            (self.blocks, self.block_signs, 1),
            (self.fractions, self.fraction_signs, -1),
        ):
            if digits and signs is not None:
                product.mul_(coarse(digits, signs, ladder, group, step))
                continue
            for number, digit in enumerate(digits, 1):
                product.mul_(torch.index_select(rows(ladder, group, step * number), 0, digit, out=factor))
        return torch.view_as_real(product), (1 + len(self.blocks) + len(self.fractions)) * ERROR_PER_ROW


def _below(rest: Tensor) -> list[Tensor] | None:
    """Digits of fractions (n,) in [0, 1), highest first; None where they have no end."""
    ends = torch.arange(_CHUNK_BITS - RADIX_BITS, -1, -RADIX_BITS, dtype=torch.int64, device="cpu").unsqueeze(-1)
    digits: list[Tensor] = []
    for _ in range(_BITS_BELOW // _CHUNK_BITS):
        # Each step is exact.
        rest = rest * 2.0**_CHUNK_BITS
        whole = rest.to(torch.int64)
        chunk = whole >> ends & (RADIX - 1)
        digits += chunk.unbind()
        rest = rest - whole
        if not bool(rest.any()):
            used = chunk.any(1).tolist()
            return digits[: len(digits) - used[::-1].index(True)] if True in used else digits
    return None


def _of_numbers(positions: list[int] | list[float]) -> Digits | None:
    wholes = [int(position) for position in positions]
    rests = [position - whole for position, whole in zip(positions, wholes, strict=True)]
    scaled = [abs(rest) * 2.0**_BITS_BELOW for rest in rests]
    below = [int(each) for each in scaled]
    if below != scaled:
        return None
    blocks = [whole >> RADIX_BITS for whole in wholes]
    above = [abs(block) for block in blocks]
    places = -(-max(above).bit_length() // RADIX_BITS)
    # From the lowest bit that is set in any of them.
    every = 0
    for each in below:
        every |= each
    ends = range(_BITS_BELOW - RADIX_BITS, (every & -every).bit_length() - 1 - RADIX_BITS, -RADIX_BITS) if every else ()
    lines = [wholes, *[[a >> RADIX_BITS * j for a in above] for j in range(places)]]
    lines += [[b >> end for b in below] for end in ends]
    fine, *digits = torch.tensor(
        [[number & (RADIX - 1) for number in line] for line in lines], dtype=torch.int64, device="cpu"
    ).unbind()
    largest = max(map(abs, positions))
    return Digits(fine, digits[:places], _signs(blocks), digits[places:], _signs(rests), largest)


def _signs(numbers: list[int] | list[float]) -> Tensor | None:
    signs = [-1.0 if number < 0 else 1.0 for number in numbers]
    return torch.tensor(signs, dtype=torch.float64, device="cpu") if -1.0 in signs else None

"""Turning the pairs of queries and keys: the one place where rotary embeddings touch numbers that are not theirs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from ..layout import Layout
from ..tracing import in_graph, in_transform
from .arguments import is_followed, is_readable

# Values of one piece for each thread: it and its result stay in a cache while they are turned. Smaller ones would be
# faster by nothing, and make threads wait for each other more often: costly where other programs hold a core.
_PIECE = 1 << 18
# Up to so many values the calls cost more than the passes over memory.
FEW = 1 << 16


class Turns(NamedTuple):
    """What pairs are turned by, (S, pairs) or (B, S, pairs), in `working_dtype`.

    Where `is_spread`, it stands under the columns instead (S, 2 pairs): the cosine under both members of a pair, minus
    the sine under the first one and the sine under the second.
    """

    cosine: Tensor
    sine: Tensor
    is_spread: bool = False

    def back(self) -> Turns:
        """The turns the other way."""
        return self._replace(sine=-self.sine)

    def last(self, count: int) -> Turns:
        """Those of the last `count` positions alone."""
        length = self.cosine.shape[-2]
        if count == length:
            return self
        return self._replace(cosine=self.cosine[..., length - count :, :], sine=self.sine[..., length - count :, :])

    def to(self, dtype: torch.dtype, device: torch.device) -> Turns:
        """The same in another dtype, on another device."""
        return self._replace(cosine=self.cosine.to(device, dtype), sine=self.sine.to(device, dtype))


def spread(turns: Turns, layout: Layout) -> Turns:
    """Turns under their columns."""
    both, signed = (turns.cosine, turns.cosine), (-turns.sine, turns.sine)
    if layout == "interleaved":
        return Turns(torch.stack(both, -1).flatten(-2), torch.stack(signed, -1).flatten(-2), is_spread=True)
    return Turns(torch.cat(both, -1), torch.cat(signed, -1), is_spread=True)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """What pairs are turned in: float32 for narrower ones."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def turned(x: Tensor, turns: Turns, layout: Layout, seq_dim: int) -> Tensor:
    """x (..., dim) with its first 2 pairs columns turned, in the dtype of x, rounded once; the rest as it is.

    Law: (a, b) -> (a cos - b sin, b cos + a sin), the same bits however x is laid out, split or followed. The
    sequence is axis `seq_dim` of x, and its first axis is B.
    """
    if turns.is_spread:
        return _by_columns(x, turns, layout, seq_dim)
    if in_graph() or type(x) not in (Tensor, torch.nn.Parameter) or in_transform(x):
        return _at_once(x, turns, layout, seq_dim)
    if not is_followed(x):
        return _whole(x, turns, layout, seq_dim)
    if not x.requires_grad or unpack_dual(x).tangent is not None:
        # Forward mode follows plain operations.
        return _at_once(x, turns, layout, seq_dim)
    made: Tensor = _Turn.apply(x, turns.cosine, turns.sine, layout, seq_dim)  # type: ignore[no-untyped-call]
    return made


def _whole(x: Tensor, turns: Turns, layout: Layout, seq_dim: int) -> Tensor:
    turn = _by_pieces if is_readable(x) else _at_once
    return turn(x.detach(), turns, layout, seq_dim)


def _members(x: Tensor, pairs: int, layout: Layout) -> tuple[Tensor, Tensor]:
    """The two members of every pair of x (..., dim), as views."""
    if layout == "interleaved":
        return x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
    return x[..., :pairs], x[..., pairs : 2 * pairs]


def _fitted(part: Tensor, x: Tensor, seq_dim: int) -> Tensor:
    """(S, n) or (B, S, n) in a shape that broadcasts against x (..., n), axis by axis."""
    shape = [1] * x.ndim
    shape[seq_dim], shape[-1] = part.shape[-2], part.shape[-1]
    if part.ndim == 3:
        shape[0] = part.shape[0]
    return part.reshape(shape)


def _ended(made: Tensor, x: Tensor) -> Tensor:
    """Turned columns in the dtype of x, then the columns of x that are not turned."""
    if made.dtype != x.dtype:
        made = made.to(x.dtype)
    return made if x.shape[-1] == made.shape[-1] else torch.cat((made, x[..., made.shape[-1] :]), -1)


def _by_columns(x: Tensor, turns: Turns, layout: Layout, seq_dim: int) -> Tensor:
    """By turns that are spread: in few operations, that compilers, transforms and autograd follow."""
    width = turns.cosine.shape[-1]
    part = x if x.shape[-1] == width else x[..., :width]
    if part.dtype != turns.cosine.dtype:
        part = part.to(turns.cosine.dtype)
    if layout == "interleaved":
        other = part.unflatten(-1, (width // 2, 2)).flip(-1).flatten(-2)
    else:
        other = part.roll(width // 2, -1)
    cosine, sine, _ = turns
    if cosine.ndim == 3 or seq_dim != x.ndim - 2:
        cosine, sine = _fitted(cosine, x, seq_dim), _fitted(sine, x, seq_dim)
    # Into what was just made: for one token of a decoder, a new tensor costs as much as the numbers in it.
    return _ended((part * cosine).add_(other.mul_(sine)), x)


def _at_once(x: Tensor, turns: Turns, layout: Layout, seq_dim: int) -> Tensor:
    """In operations that compilers, transforms and autograd follow."""
    cosine, sine = _fitted(turns.cosine, x, seq_dim), _fitted(turns.sine, x, seq_dim)
    a, b = _members(x, cosine.shape[-1], layout)
    a, b = a.to(cosine.dtype), b.to(cosine.dtype)
    # Rounded before they are joined: compilers then write each of them in one pass.
    c, d = (a * cosine - b * sine).to(x.dtype), (b * cosine + a * sine).to(x.dtype)
    if layout == "interleaved":
        # Not flattened: autograd's batched gradients know no such view.
        return _ended(torch.stack((c, d), -1).reshape(*x.shape[:-1], 2 * c.shape[-1]), x)
    return _ended(torch.cat((c, d), -1), x)


def _by_pieces(x: Tensor, turns: Turns, layout: Layout, seq_dim: int) -> Tensor:
    """Piece by piece in memory that is used again; the result lies in memory as x does."""
    strides = x.stride()
    order = [*sorted(range(x.ndim - 1), key=lambda axis: -strides[axis]), x.ndim - 1]
    rows = x.permute(order)
    cosine, sine = (_fitted(part, x, seq_dim).permute(order) for part in (turns.cosine, turns.sine))
    out = torch.empty(rows.shape, dtype=x.dtype, device="cpu")
    size = _PIECE * torch.get_num_threads()
    work = _Work(rows, cosine.shape[-1], size)
    for piece in _pieces(rows.shape, size):
        work.turn(rows[piece], out[piece], cosine[_along(piece, cosine)], sine[_along(piece, sine)], layout)
    return out.permute([order.index(axis) for axis in range(x.ndim)])


def _pieces(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Indices of runs of at most `most` values, or one row where that has more."""
    axis, size = 0, math.prod(shape[1:])
    while size > most and axis < len(shape) - 2:
        axis += 1
        size = math.prod(shape[axis + 1 :])
    steps = [*[1] * axis, max(1, most // max(1, size))]
    yield from itertools.product(
        *([slice(i, i + step) for i in range(0, n, step)] for n, step in zip(shape, steps, strict=False))
    )


def _along(piece: tuple[slice, ...], part: Tensor) -> tuple[slice, ...]:
    """The same index for what is broadcast."""
    return tuple(index if n > 1 else slice(None) for index, n in zip(piece, part.shape, strict=False))


class _Work:
    """Buffers of one call."""

    def __init__(self, x: Tensor, pairs: int, size: int) -> None:
        self.pairs, self.wide = pairs, working_dtype(x.dtype)
        most = min(x.numel(), max(size, x.shape[-1]))
        self.part = torch.empty(most, dtype=self.wide, device="cpu")
        self.source = torch.empty_like(self.part) if self.wide != x.dtype else None

    def turn(self, x: Tensor, out: Tensor, cosine: Tensor, sine: Tensor, layout: Layout) -> None:
        """One piece x (..., dim) -> out. Products and sums apart: a fused one may round otherwise in tails."""
        width = 2 * self.pairs
        half = (*x.shape[:-1], self.pairs)
        size = math.prod(half)
        part = self.part[:size].view(half)
        if self.source is None:
            (a, b), (c, d) = _members(x, self.pairs, layout), _members(out, self.pairs, layout)
            torch.mul(a, cosine, out=c)
            c.sub_(torch.mul(b, sine, out=part))
            torch.mul(b, cosine, out=d)
            d.add_(torch.mul(a, sine, out=part))
        else:
            # Where it is widened to, which leaves more of the cache to the rest.
            source = self.source[: 2 * size].view(*x.shape[:-1], width).copy_(x[..., :width])
            a, b = _members(source, self.pairs, layout)
            other = self.part[size : 2 * size].view(half)
            torch.mul(b, sine, out=part)
            torch.mul(a, sine, out=other)
            a.mul_(cosine).sub_(part)
            b.mul_(cosine).add_(other)
            out[..., :width].copy_(source)
        if x.shape[-1] > width:
            out[..., width:].copy_(x[..., width:])


class _Turn(torch.autograd.Function):
    """The gradient of a turn is the turn back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cosine: Tensor, sine: Tensor, layout: Layout, seq_dim: int) -> Tensor:
        ctx.save_for_backward(cosine, sine)
        ctx.layout, ctx.seq_dim = layout, seq_dim
        return _whole(x, Turns(cosine, sine), layout, seq_dim)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        back = Turns(*ctx.saved_tensors).back()
        return turned(grads[0], back, ctx.layout, ctx.seq_dim), None, None, None, None

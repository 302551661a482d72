"""A learned bias for each bucket of relative positions and each head, as T5 has it."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ..arguments.devices import check_device
from ..arguments.memory import made
from ..encoding.arguments import INT64_MAX, check_dtype, check_int, is_readable, uncast
from ..errors import DtypeError, refuse
from ..positions.arguments import as_integers, check_choice
from .between import Future, Places, check_deviation, fitting, line, places, relative, spread
from .constant import constant

Direction = Literal["bidirectional", "causal"]

_MOST_BUCKETS = 1024
# Boundaries are found by exact comparison in this range around the float64 guess, whose error is far smaller.
_GUESS = 2.0**-40


class RelativePositionBias(nn.Module):
    """A trained bias by distance, to be added to attention scores before softmax: weight[bucket(j - i), head].

    It goes as it is into `scaled_dot_product_attention(q, k, v, attn_mask=bias)`; T5 itself does not divide its scores
    by sqrt(d), which is `scale=1.0` there. T5 has one such module in its first layer and adds the result in all.

    Buckets: half of them hold one distance each, 0, 1, 2, ...; the others grow as a geometric series up to
    `max_distance`, and the last takes everything beyond. "bidirectional" has such a row of buckets for each side;
    "causal" has one, for the past, and counts the future with distance 0. Boundaries are found by comparing integers,
    so no logarithm is rounded; T5's own float32 function gives the same buckets for every distance that was
    compared (all up to 5000, for `num_buckets` from 4 to 256 and `max_distance` from 16 to 4096).

    `weight` (num_buckets, num_heads) is T5's relative_attention_bias.weight: named so in the model, this module loads
    it. It begins normal with standard deviation `std`.

    Args:
        num_heads: how many heads.
        num_buckets: T5 has 32; "bidirectional" needs an even number.
        max_distance: T5 has 128, and was trained on 512 positions; for shorter ones see `trained_range`.
        direction: "bidirectional" for encoders, "causal" for decoders.
        future: "open", or "masked": -inf for keys after the query, for "causal" alone. T5 masks elsewhere.
        trained_length: length of the sequences of training. Warns once where a bucket is used that they never
            reached: its bias is still the one it was initialised with.
        std: of the initial weights. T5 has d_model^-0.5.
        device, dtype: of the weight and of the bias.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Raffel et al. 2020, section 2.1; Shaw et al. 2018 for the idea.

    >>> bias = RelativePositionBias(8, trained_length=64)
    >>> bias
    RelativePositionBias(8, num_buckets=32, max_distance=128, direction='bidirectional', future='open', \
dtype=torch.float32, trained_length=64, trained_range=(-63, 63))
    >>> bias(5, 5).shape
    torch.Size([1, 8, 5, 5])
    >>> bias.bucket(torch.tensor([-1000, -1, 0, 1, 7, 8, 1000]))
    tensor([15,  1,  0, 17, 23, 24, 31])
    """

    weight: nn.Parameter

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        *,
        direction: Direction = "bidirectional",
        future: Future = "open",
        trained_length: int | None = None,
        std: float = 0.02,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_heads = check_int(num_heads, "num_heads", 1, INT64_MAX, "pass the number of heads")
        check_choice(direction, "direction", get_args(Direction))
        check_choice(future, "future", get_args(Future))
        self.direction, self.future = direction, future
        if self.future == "masked" and self.direction == "bidirectional":
            refuse(
                "future='masked' with direction='bidirectional'",
                "future='open', since half of the buckets are for the future",
                "pass direction='causal'",
            )
        sides = 2 if self.direction == "bidirectional" else 1
        fix = "T5 has num_buckets=32"
        self.num_buckets = check_int(num_buckets, "num_buckets", 2 * sides, _MOST_BUCKETS, fix)
        if self.num_buckets % sides:
            refuse(f"num_buckets={num_buckets}", "an even number, half of it for each side", fix)
        single = self.num_buckets // sides // 2
        fix = f"{single} distances have a bucket of their own; T5 has max_distance=128"
        self.max_distance = check_int(max_distance, "max_distance", single + 1, 1 << 62, fix)
        self.boundaries = _boundaries(self.num_buckets // sides, self.max_distance)
        if trained_length is not None:
            trained_length = check_int(trained_length, "trained_length", 1, INT64_MAX, "pass the length of training")
        self.trained_length = trained_length
        self.std = check_deviation(std, "std")
        self._warned = False
        with torch.inference_mode(False):
            shape = (self.num_buckets, self.num_heads)
            dtype, place = check_dtype(dtype), None if device is None else check_device(device)
            weight = made(
                lambda: torch.empty(shape, dtype=dtype, device=place),
                shape,
                dtype,
                place,
                "a weight",
                "pass fewer heads",
            )
            self.weight = nn.Parameter(weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew: normal, with the standard deviation `std`."""
        nn.init.normal_(self.weight, std=self.std)

    @property
    def trained_range(self) -> tuple[int | None, int | None] | None:
        """The relative positions whose buckets sequences of `trained_length` reach; None at an end is no end."""
        if self.trained_length is None:
            return None
        last = sum(boundary <= self.trained_length - 1 for boundary in self.boundaries)
        reach = self.boundaries[last] - 1 if last < len(self.boundaries) else None
        low = None if reach is None else -reach
        return low, reach if self.direction == "bidirectional" else None

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        said = f"{self.num_heads}, num_buckets={self.num_buckets}, max_distance={self.max_distance}"
        said += f", direction={self.direction!r}, future={self.future!r}, dtype={self.weight.dtype}"
        if self.trained_length is None:
            return said
        return said + f", trained_length={self.trained_length}, trained_range={self.trained_range}"

    def bucket(self, relative_positions: Tensor) -> Tensor:
        """Positions of keys minus positions of queries (...), anywhere in int64 -> their buckets (...), int64."""
        return self._bucket(as_integers(relative_positions, "relative_positions"))

    def forward(
        self,
        query_length: int,
        key_length: int,
        *,
        offset: int | Tensor | None = None,
        query_positions: Tensor | None = None,
        key_positions: Tensor | None = None,
    ) -> Tensor:
        """The bias, (1, heads, Q, K); (..., heads, Q, K) where positions or offset have leading axes.

        Args:
            query_length, key_length: Q and K, the shape of the scores.
            offset: position of the first query, counted from the first key, an int or one for each row (B,); None
                takes the queries for the last of the keys, as a decoder with a cache needs it. Added to
                `query_positions`.
            query_positions, key_positions: (..., Q) and (..., K), integers, in any order. Left-padded text passes
                those of its mask as `key_positions`; queries are then the last of them.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed.
        """
        dtype, device = self.weight.dtype, self.weight.device
        where = places(query_length, key_length, offset, query_positions, key_positions, device)
        if any(given is not None and given.is_floating_point() for given in (where.queries, where.keys)):
            refuse(
                "positions of a floating dtype",
                "integers: there are buckets for whole distances alone",
                f"{uncast('positions')}, or use AlibiBias",
                error=DtypeError,
            )
        each = line(where, device)
        between = (
            fitting(lambda: relative(where, device), where, self.num_heads, dtype, device) if each is None else each
        )
        self._watch(where, between)
        return fitting(lambda: self._bias(where, each, between), where, self.num_heads, dtype, device)

    def _bias(self, where: Places, each: Tensor | None, between: Tensor) -> Tensor:
        device = self.weight.device
        bias = nn.functional.embedding(self._bucket(between).to(device), self.weight)
        if self.future == "masked":
            bias = bias.masked_fill((between > 0).to(device).unsqueeze(-1), -math.inf)
        if each is not None:
            return spread(bias.t().unsqueeze(0), where)
        bias = bias.movedim(-1, -3)
        # In order: kernels of attention read along the keys.
        return (bias.unsqueeze(0) if bias.ndim == 3 else bias).contiguous()

    def _bucket(self, between: Tensor) -> Tensor:
        reach = self.boundaries[-1]
        boundaries = constant(self.boundaries, torch.int64, between.device)
        # Clamped before the sign is turned: the smallest integer has no opposite.
        if self.direction == "causal":
            return torch.bucketize(0 - between.clamp(-reach, 0), boundaries, right=True)
        buckets = torch.bucketize(between.clamp(-reach, reach).abs(), boundaries, right=True)
        return buckets + (between > 0) * (self.num_buckets // 2)

    def _watch(self, where: Places, between: Tensor) -> None:
        """Warn once of relative positions whose buckets were never trained, where the host knows them."""
        trained = self.trained_range
        if trained is None or self._warned or torch.compiler.is_compiling() or not between.numel():
            return
        if where.first is not None:
            low, high = 1 - where.first - where.query_length, where.key_length - 1 - where.first
        elif is_readable(between):
            low, high = (int(bound) for bound in torch.aminmax(between))
        else:
            return
        if (trained[0] is not None and low < trained[0]) or (trained[1] is not None and high > trained[1]):
            self._warned = True
            ends = [f"{word} {end}" for word, end in zip(("from", "to"), trained, strict=True) if end is not None]
            warnings.warn(
                f"relative positions from {low} to {high} came, but trained_length={self.trained_length} reaches the "
                f"buckets of those {' '.join(ends)} alone: the bias of the others was never trained; train on longer "
                f"sequences, or with max_distance below their length",
                stacklevel=5,  # the line that called the module
            )


def _boundaries(buckets: int, max_distance: int) -> tuple[int, ...]:
    """The first distance of bucket 1, 2, ..., for one side.

    Bucket single + k begins at the least d with d / single >= (max_distance / single)^(k / grown).
    """
    single = buckets // 2
    grown = buckets - single
    ratio = Fraction(max_distance, single)
    found = list(range(1, single + 1))
    for k in range(1, grown):
        guess = single * (max_distance / single) ** (k / grown)
        low, high = math.floor(guess * (1 - _GUESS)), math.ceil(guess * (1 + _GUESS))
        wanted = ratio**k
        while low < high:
            middle = (low + high) // 2
            if Fraction(middle, single) ** grown >= wanted:
                high = middle
            else:
                low = middle + 1
        found.append(low)
    return tuple(found)

"""Attention with linear biases: scores fall with the distance, each head at its own slope."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ..arguments.devices import check_device, default_device
from ..encoding.arguments import WITHOUT_FLOAT64, check_dtype, check_int
from ..errors import DtypeError, refuse
from ..positions.arguments import check_choice, numbers
from ..tracing import is_plain
from ..trig.rounding import FORMATS
from .between import Future, Places, ends, fitting, places, relative, spread
from .constant import NUMBERS, constant
from .narrow import narrowed

Form = Literal["symmetric", "past-nearer", "keys", "keys-from-end"]

_MOST_HEADS = 4096
# Lines of biases are kept from one multiple of this to another, up to so many bytes, and near zero.
_BLOCK, _MOST_KEPT, _FAR = 256, 1 << 19, 1 << 40


class AlibiBias(nn.Module):
    """The bias -slope * |i - j| of query i and key j, to be added to attention scores before softmax.

    It goes as it is into `scaled_dot_product_attention(q, k, v, attn_mask=bias)`, where it must have the dtype of q.
    For n heads, n a power of two, the slopes are 2^(-8/n), 2^(-16/n), ..., 2^-8; for other n they are those of the
    power of two below n, then every other one of the power above, as in the authors' code.

    Laws: a value hangs on the head and the distance alone, so rows of a decoder are rows of the whole, bit for bit.
    Each is an exact integer times a slope in float64, rounded once; a distance of 0 gives 0. bfloat16 holds a bias
    in 8 bits: from distance 257 on, neighbours share one. Keep float32 where the scores are float32.

    There is no parameter, and no state: the state dict is empty. Casts and moves of the module cast and move its
    results.

    Args:
        num_heads: how many heads, 1 to 4096.
        form: "symmetric", -slope * |i - j|: looks both ways, and under a causal mask is the bias of the paper;
            "past-nearer", the same with half a step less to every key before the query: a symmetric bias cannot
            tell left from right, this one can (Ruoss et al. 2023);
            "keys", slope * j, of shape (heads, 1, K): differs from the paper's by a number for each query, which
            softmax does not see; needs a causal mask (the authors' code, BLOOM);
            "keys-from-end", slope * (j - last j), likewise (MPT).
        future: "open", or "masked": -inf for keys after the query, so that no other causal mask is needed. A query
            that stands before every key then sees nothing, and softmax gives it NaN.
        dtype: of the bias; None is torch's default when the module is made.
        device: of the bias; None is torch's default.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Press, Smith and Lewis 2022 (ALiBi); Ruoss et al. 2023 for "past-nearer".

    >>> bias = AlibiBias(2, future="masked")
    >>> bias
    AlibiBias(2, form='symmetric', future='masked', dtype=torch.float32)
    >>> bias.slopes
    tensor([0.0625, 0.0039], dtype=torch.float64)
    >>> bias(3, 3)[0]
    tensor([[ 0.0000,    -inf,    -inf],
            [-0.0625,  0.0000,    -inf],
            [-0.1250, -0.0625,  0.0000]])
    >>> bias(1, 3)[0]  # one new token, two in the cache
    tensor([[-0.1250, -0.0625,  0.0000]])
    """

    def __init__(
        self,
        num_heads: int,
        *,
        form: Form = "symmetric",
        future: Future = "open",
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.num_heads = check_int(num_heads, "num_heads", 1, _MOST_HEADS, "pass the number of heads")
        check_choice(form, "form", get_args(Form))
        check_choice(future, "future", get_args(Future))
        self.form, self.future = form, future
        self.dtype = check_dtype(dtype)
        self.device = default_device() if device is None else check_device(device)
        self._slopes = _slopes(self.num_heads)

    @property
    def slopes(self) -> Tensor:
        """The slopes of the heads, (heads,) float64, within one unit in the last place."""
        return torch.tensor(self._slopes, dtype=torch.float64, device=self._computes_on())

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        said = f"{self.num_heads}, form={self.form!r}, future={self.future!r}, dtype={self.dtype}"
        return said if self.device.type == "cpu" else said + f", device={str(self.device)!r}"

    def forward(
        self,
        query_length: int,
        key_length: int,
        *,
        offset: int | Tensor | None = None,
        query_positions: Tensor | None = None,
        key_positions: Tensor | None = None,
    ) -> Tensor:
        """The bias, (heads, Q, K); (..., heads, Q, K) where positions or offset have leading axes.

        Args:
            query_length, key_length: Q and K, the shape of the scores.
            offset: position of the first query, counted from the first key, an int or one for each row (B,); None
                takes the queries for the last of the keys, as a decoder with a cache needs it. Added to
                `query_positions`.
            query_positions, key_positions: (..., Q) and (..., K), integers or floats, in any order. Left-padded
                text passes those of its mask as `key_positions`; queries are then the last of them. float16 and
                bfloat16 below 2048 and 256, as in `encode`.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed.
        """
        where = places(query_length, key_length, offset, query_positions, key_positions, self.device)
        return fitting(lambda: self._bias(where), where, self.num_heads, self.dtype, self.device)

    def _bias(self, where: Places) -> Tensor:
        by_key = self.form in ("keys", "keys-from-end")
        device = self._computes_on()
        found = ends(where) if not by_key else None
        if found is not None:
            return spread(self._line(*found, device), where).to(self.device)
        if not by_key:
            between = relative(where, device)
            return self._masked(self._sloped(self._fall(between)), between).to(self.device)
        if where.keys is None and where.key_length and is_plain():
            low = 0 if self.form == "keys" else 1 - where.key_length
            bias = self._line(low, where.key_length, device).unsqueeze(-2).clone()
        else:
            bias = self._sloped(self._along(where, device).unsqueeze(-2))
        if self.future == "masked":
            bias = self._masked(bias, relative(where, device))
        return bias.to(self.device)

    def _line(self, low: int, count: int, device: torch.device) -> Tensor:
        """Biases (heads, count) of low, low + 1, ...; not to be written to. A decoder asks for them at each step."""
        first = low // _BLOCK * _BLOCK
        end = -(-(low + count) // _BLOCK) * _BLOCK
        if (end - first) * self.num_heads * self.dtype.itemsize > _MOST_KEPT or max(-first, end) > _FAR:
            return self._along_line(low, count, device)

        def make() -> Tensor:
            with torch.inference_mode(False), torch.no_grad():
                return self._along_line(first, end - first, device)

        key = (self._slopes, self.form, self.future, self.dtype, device, first, end)
        return NUMBERS.get(key, make, lambda made: made.nbytes).narrow(-1, low - first, count)

    def _along_line(self, low: int, count: int, device: torch.device) -> Tensor:
        each = numbers(count, device, low)
        if self.form in ("keys", "keys-from-end"):
            return self._sloped(each.to(torch.float64))
        return self._masked(self._sloped(self._fall(each)), each)

    def _fall(self, between: Tensor) -> Tensor:
        """Relative positions -> what the slopes multiply, float64."""
        between = between.to(torch.float64)
        fall = 0 - between.abs()
        return fall + 0.5 * (between < 0) if self.form == "past-nearer" else fall

    def _along(self, where: Places, device: torch.device) -> Tensor:
        """What the slopes multiply where keys alone decide, (..., K) float64."""
        keys = where.keys
        if keys is None:
            keys = numbers(where.key_length, device)
        keys = keys.to(torch.float64)
        return keys if self.form == "keys" or not where.key_length else keys - keys[..., -1:]

    def _sloped(self, fall: Tensor) -> Tensor:
        """Falls (n,) or (..., Q, K) -> biases (heads, n) or (..., heads, Q, K), rounded."""
        slopes = constant(self._slopes, torch.float64, fall.device)
        if fall.ndim == 1:
            return narrowed(fall * slopes.unsqueeze(-1), self.dtype)
        return narrowed(fall.unsqueeze(-3) * slopes.view(-1, 1, 1), self.dtype)

    def _masked(self, bias: Tensor, between: Tensor) -> Tensor:
        """No way into the future, where it is masked."""
        if self.future == "open":
            return bias
        return bias.masked_fill((between if between.ndim == 1 else between.unsqueeze(-3)) > 0, -math.inf)

    def _computes_on(self) -> torch.device:
        return torch.device("cpu") if self.device.type in WITHOUT_FLOAT64 else self.device

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> AlibiBias:  # noqa: FBT001, FBT002 - torch's signature
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        # No tensor is held: an empty one shows what a cast or a move would do to it.
        moved = fn(torch.empty(0, dtype=self.dtype, device=self.device))
        if moved.dtype not in FORMATS:
            refuse(
                f"a cast of the module to {moved.dtype}",
                "float64, float32, bfloat16 or float16",
                "cast the rest of the model alone",
                error=DtypeError,
            )
        self.dtype, self.device = moved.dtype, moved.device
        return self


def _slopes(num_heads: int) -> tuple[float, ...]:
    power = 1 << (num_heads.bit_length() - 1)
    whole = (2.0 ** (-8 * (head + 1) / power) for head in range(power))
    rest = (2.0 ** (-4 * (2 * head + 1) / power) for head in range(num_heads - power))
    return (*whole, *rest)

"""The module that turns queries and keys by their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..convention import Convention, as_index, check_dim, resolve
from ..convention.scaling import Scaling, read_scaling
from ..encoding.arguments import INT64_MAX, PositionsLike, is_readable, with_float64
from ..encoding.rotary import check_places, check_seq_dim, check_turnable
from ..encoding.rotation import Rotation, ready_rotation, rotation_of, width_of
from ..encoding.turn import FEW, Turns, spread, turned, working_dtype
from ..encoding.turns import computed_turns, on_all_axes, turns_of, turns_of_few, turns_of_range
from ..errors import ConventionError, refuse, shown
from ..frequency import is_number
from ..layout import Layout
from ..positions.arguments import check_count
from .arguments import check_offset, sum_of


class RotaryEmbedding(nn.Module):
    """Turns queries and keys by their positions, so that their scores depend on distances alone.

    q and k are (..., S, dim) with `seq_dim=-2`, as (batch, heads, S, dim), or (batch, S, heads, dim) with
    `seq_dim=-3`; heads of k may be fewer. Shapes and dtypes stay. v is never turned, and not passed: only
    scores need order. What a turn is, as a matrix, stands at `posenc.rotate`; so does why xPos is not offered.
    There are no parameters and no buffers: the state dict is empty, an `inv_freq` in a checkpoint is passed over.

    Args:
        dim: width of a head.
        rotary: a rotary name in `posenc.conventions`, as "llama", or a `Convention`.
        base: instead of that of the convention.
        layout: "halves" as in Llama, "interleaved" as in GPT-J; instead of that of the convention.
        scaling: `rope_parameters` or `rope_scaling` of a Hugging Face configuration; its `rope_theta`,
            `max_position_embeddings` and `partial_rotary_factor` may stand in it; YaRN and LongRoPE without a
            `factor` need the second. Unknown fields are refused.
        rotary_dim: columns that turn, an even number or a fraction of dim; the others are left as they are.
        sections: pairs for each axis of the positions, (time, row, column) in multimodal models.
        seq_dim: the axis of the sequence in q and k.

    `attention_factor` multiplies the columns that turn, as YaRN and LongRoPE ask for; set it to 1.0 to turn that off.
    Dynamic and LongRoPE scaling depend on the length of the whole sequence, and nothing is kept between calls.
    A key in a cache keeps the turn that it was given: a decoder passes the same `length` at every step, or queries
    and keys of different lengths meet, whose scores do not depend on their distance alone.

    Raises:
        ConventionError: where the arguments make no rotation, or contradict each other.

    Source: Su et al. 2021 (RoFormer); Peng et al. 2023 (YaRN); Ding et al. 2024 (LongRoPE).

    >>> rotary = RotaryEmbedding(4)
    >>> q = torch.ones(1, 1, 3, 4)
    >>> turned_q, turned_k = rotary(q, q)
    >>> turned_q[0, 0, 1]
    tensor([-0.3012,  0.9900,  1.3818,  1.0099])
    """

    def __init__(
        self,
        dim: int,
        rotary: str | Convention = "llama",
        *,
        base: float | None = None,
        layout: Layout | None = None,
        scaling: Mapping[str, Any] | None = None,
        rotary_dim: float | None = None,
        sections: Sequence[int] | None = None,
        seq_dim: int = -2,
    ) -> None:
        super().__init__()
        self.dim = check_dim(dim)
        self.seq_dim = check_seq_dim(seq_dim)
        scaled = Scaling() if scaling is None else read_scaling(scaling, self.dim)
        self.attention_factor = scaled.attention_factor
        convention = _overridden(resolve(rotary, "rotary"), self.dim, base, layout, rotary_dim, scaled)
        self._rule = scaled.stretch
        if convention.stretch is not None and (self._rule is not None or convention.stretch.needs_length):
            if self._rule is not None:
                refuse(
                    f"scaling beside {convention.label}, which is stretched already",
                    "one rule",
                    "leave scaling out, or pass a convention without one",
                    error=ConventionError,
                )
            # Its name too: the rule is part of the system.
            self._rule, convention = convention.stretch, replace(convention, stretch=None, _named=None)
        self.convention = convention
        self.sections = _sections(sections, scaled)
        # Refuses, here and not in the first forward, what does not fit.
        self._rotation = rotation_of(convention, self.dim, self.sections, self._rule)
        self.rotary_dim = self._rotation.width

    @property
    def attention_factor(self) -> float:
        """What the columns that turn are multiplied by."""
        return self._attention_factor

    @attention_factor.setter
    def attention_factor(self, value: float) -> None:
        if not is_number(value) or value <= 0:
            refuse(f"attention_factor={shown(value)}", "a number above zero", "pass 1.0 to turn it off")
        self._attention_factor = float(value)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        *,
        positions: PositionsLike | None = None,
        offset: int | Tensor = 0,
        length: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Queries and keys -> the same, turned, times `attention_factor`; what came is left alone.

        Args:
            q, k: queries and keys; a q shorter than k takes the last positions, as a decoder with a cache does.
            positions: of k, (S,) or (B, S); with several axes (S, axes) or (B, S, axes). Default 0, 1, ...
            offset: added to every position; an int, or one for each row (B,).
            length: of the whole sequence, for dynamic and LongRoPE scaling; None means offset + S for an int
                offset. Decoders fix it.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed.
        """
        axis_q, axis_k = check_turnable(q, "q", self.seq_dim), check_turnable(k, "k", self.seq_dim)
        self._check_shapes(q, k, axis_q, axis_k)
        dtype, layout = working_dtype(k.dtype), self._rotation.layout
        for_k = for_q = self._turns(q, k, axis_k, positions, offset, length, dtype)
        if working_dtype(q.dtype) != dtype:
            for_q = self._turns(q, k, axis_k, positions, offset, length, working_dtype(q.dtype))
        return turned(q, for_q.last(q.shape[axis_q]), layout, axis_q), turned(k, for_k, layout, axis_k)

    def _check_shapes(self, q: Tensor, k: Tensor, axis_q: int, axis_k: int) -> None:
        for name, x in (("q", q), ("k", k)):
            if x.shape[-1] != self.dim:
                refuse(
                    f"{name} of shape {tuple(x.shape)}",
                    f"heads of {self.dim} columns in the last axis",
                    f"build RotaryEmbedding({x.shape[-1]}), or split the heads first",
                )
        if axis_q != axis_k or (axis_k > 0 and q.shape[0] != k.shape[0]):
            refuse(
                f"q of shape {tuple(q.shape)} and k of shape {tuple(k.shape)}",
                "as many axes, and one batch",
                "turn them one by one with posenc.rotate",
            )
        if q.shape[axis_q] > k.shape[axis_k]:
            refuse(
                f"{q.shape[axis_q]} queries for {k.shape[axis_k]} keys",
                "at most as many queries as keys",
                "pass the keys of the cache too, or turn q and k one by one with posenc.rotate",
            )
        if q.device != k.device:
            refuse(f"q on {q.device} and k on {k.device}", "one device", "move one of them")

    def _turns(
        self, q: Tensor, k: Tensor, axis: int, positions: Any, offset: Any, length: Any, dtype: torch.dtype
    ) -> Turns:
        """What the keys are turned by."""
        size, device, gain = k.shape[axis], k.device, self._attention_factor
        readable = is_readable(k)
        few = readable and q.numel() <= FEW and k.numel() <= FEW
        offset = check_offset(offset, (k.shape[0],) if axis > 0 else (), device)
        length = self._length(length, positions, offset, size)
        if positions is None and not isinstance(offset, Tensor):
            # In a graph that leaves the length open, this would close it.
            if not torch.compiler.is_compiling() and offset + size - 1 > INT64_MAX:
                refuse(f"offset={offset} with {size} keys", "positions within int64", "pass a smaller offset")
            if readable:
                make = turns_of_few if few else turns_of_range
                return make(offset, size, self._of(length), dtype, gain)
        axes = self._rotation.axes
        if positions is None:
            places = on_all_axes(with_float64(torch.arange(size, dtype=torch.int64, device=device)), self._rotation)
        else:
            places = check_places(positions, k, axis, axes)
        # One offset for each row, whatever the axes.
        more = offset.unsqueeze(-1) if axes > 1 and isinstance(offset, Tensor) and offset.ndim else offset
        places = sum_of(places, more)
        if is_readable(places):
            rotation = self._of(length)
            if few and axes == 1 and places.dtype == torch.int64 and places.numel() == 1:
                return turns_of_few(int(places), 1, rotation, dtype, gain)
            turns = turns_of(places, rotation, dtype, gain)
            return spread(turns, rotation.layout) if few else turns.to(dtype, device)
        ready = ready_rotation(self.convention, self.dim, places.device, self.sections, self._rule, length)
        return computed_turns(places, ready, dtype, gain).to(dtype, device)

    def _of(self, length: int | None) -> Rotation:
        if length is None:
            return self._rotation
        return rotation_of(self.convention, self.dim, self.sections, self._rule, length)

    def _length(self, length: Any, positions: Any, offset: int | Tensor, size: int) -> int | None:
        """The length of the whole sequence, where frequencies depend on it."""
        if length is not None:
            length = check_count(length, "length", 0, INT64_MAX, "pass the length of the whole sequence")
        if self._rule is None or not self._rule.needs_length:
            return None
        if length is None:
            if positions is not None or isinstance(offset, Tensor):
                refuse(
                    f"{self._rule.kind} scaling with positions or a tensor offset, and no length",
                    "the length of the whole sequence, on which the frequencies depend",
                    "pass length, the same at every step of a decoder",
                )
            return offset + size
        return cast(int, length)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        # Frequencies follow the constructor; those of old checkpoints were cast, or stretched for some length.
        state_dict.pop(prefix + "inv_freq", None)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        convention = self.convention
        said = f"{self.dim}, rotary={convention.label}"
        if convention.spacing == "geometric" and convention.last is None:
            said += f", base={convention.base:g}"
        said += f", layout={convention.layout!r}, rotary_dim={self.rotary_dim}"
        if self._rule is not None:
            said += f", scaling={self._rule}"
        if self.sections is not None:
            said += f", sections={self.sections}"
        if self.attention_factor != 1:
            said += f", attention_factor={self.attention_factor:.6g}"
        return f"{said}, seq_dim={self.seq_dim}"


def _contradiction(one: str, other: str) -> None:
    refuse(
        f"{one} beside {other} of scaling",
        "one of them, or both alike",
        f"leave {one.partition('=')[0]} out",
        error=ConventionError,
    )


def _sections(sections: Sequence[int] | None, scaled: Scaling) -> tuple[int, ...] | None:
    if sections is None:
        return scaled.sections
    counts = [as_index(count) for count in sections] if isinstance(sections, (tuple, list)) else [None]
    made = tuple(count for count in counts if count is not None)
    # Of their type here: later they are the key of a cache, where 2.0 and 2 are one.
    if len(made) < len(counts):
        refuse(f"sections={shown(sections)}", "the pairs of each axis", "pass a tuple of ints", error=ConventionError)
    if scaled.sections is not None and made != scaled.sections:
        _contradiction(f"sections={shown(made)}", f"mrope_section={shown(scaled.sections)}")
    return made


def _overridden(
    convention: Convention,
    dim: int,
    base: float | None,
    layout: Layout | None,
    rotary_dim: float | None,
    scaled: Scaling,
) -> Convention:
    """The convention with what was passed beside it; two that contradict each other are refused."""
    if base is not None and scaled.base is not None and base != scaled.base:
        _contradiction(f"base={shown(base)}", f"rope_theta={scaled.base!r}")
    changes: dict[str, Any] = {
        "base": scaled.base if base is None else base,
        "rotary_dim": scaled.fraction if rotary_dim is None else rotary_dim,
        "layout": layout,
    }
    changes = {
        name: value for name, value in changes.items() if value is not None and getattr(convention, name) != value
    }
    changed = replace(convention, name=None, released_as=None, **changes) if changes else convention
    if rotary_dim is not None and scaled.fraction is not None:
        # 64 of 128 columns are half of them.
        one, other = (width_of(replace(changed, rotary_dim=each), dim) for each in (rotary_dim, scaled.fraction))
        if one != other:
            _contradiction(f"rotary_dim={shown(rotary_dim)}", f"partial_rotary_factor={scaled.fraction!r}")
    return changed

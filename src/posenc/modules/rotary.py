"""The module that turns queries and keys by their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..arguments.numbers import is_number
from ..convention import Convention, check_dim, resolve
from ..convention.scaling import Scaling, read_scaling
from ..encoding.arguments import INT64_MAX, PositionsLike, is_readable, with_float64
from ..encoding.rotary import check_places, check_seq_dim, check_turnable
from ..encoding.rotation import Rotation, ready_rotation, rotation_of
from ..encoding.turn import FEW, Turns, spread, turned, working_dtype
from ..encoding.turns import computed_turns, on_all_axes, turns_of, turns_of_few, turns_of_range
from ..errors import refuse, shown
from ..layout import Layout
from ..positions.arguments import check_count
from .arguments import check_offset, refuse_misplaced, sum_of
from .axes import Axes
from .jagged import check_rows_alike, is_jagged, turned_by_row
from .rotary_loading import rotary_fault
from .rotary_options import checked_sections, one_rule, overridden
from .rotary_readings import ROTARY_NAMES


class RotaryEmbedding(nn.Module):
    """Turns queries and keys by their positions, so that their scores depend only on distances.

    q and k are (..., S, dim) with `seq_dim=-2`, as (batch, heads, S, dim), or (batch, S, heads, dim) with
    `seq_dim=-3`; heads of k may be fewer. Shapes and dtypes stay. v is never turned, and not passed: only
    scores need order. `posenc.rotate` shows a turn as a matrix, and says why xPos is not offered.
    `rotate` turns one tensor, for cross-attention. There are no parameters and no buffers: the state dict is empty.
    Frequencies, cosines and sines that a checkpoint holds under the names of other systems, as `inv_freq`,
    `freqs_cis` or `cos_cached`, are checked when it is loaded, and not kept: another base or scaling is an error.

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
    A call without `length`, positions and offset is taken for the whole sequence. Every other one needs `length`:
    a key in a cache keeps the turn that it was given, so a decoder passes the same `length` at every step.

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
        convention = overridden(resolve(rotary, "rotary"), self.dim, base, layout, rotary_dim, scaled)
        self.convention, self._rule = one_rule(convention, scaled)
        self.sections = checked_sections(sections, scaled)
        # Refuses, here and not in the first forward, what does not fit.
        self._rotation = rotation_of(self.convention, self.dim, self.sections, self._rule)
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
        *others: Any,
        positions: PositionsLike | None = None,
        offset: int | Tensor = 0,
        length: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Queries and keys -> the same, turned, times `attention_factor`; what came is left alone.

        Args:
            q, k: queries and keys; a q shorter than k takes the last positions, as a decoder with a cache does.
                Nested ones of layout torch.jagged give the same, each row counted from 0.
            positions: of k, (S,) or (B, S); with several axes (S, axes) or (B, S, axes). Default 0, 1, ...
            offset: added to every position; an int, or one for each row (B,).
            length: of the whole sequence, for dynamic and LongRoPE scaling; None takes the call for the whole of
                it, and is refused beside positions and an offset. Decoders fix it. Positions may lie beyond it, as
                randomised ones do.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed.
        """
        if others:
            refuse_misplaced(others, "q and k", "positions, offset and length")
        if is_jagged(q, "q") or is_jagged(k, "k"):
            check_rows_alike(q, k, self.seq_dim)
            turn = partial(self.rotate, positions=positions, offset=offset, length=length)
            return turn(q), turn(k)
        axis_q, axis_k = self._axis(q, "q"), self._axis(k, "k")
        _check_together(q, k, axis_q, axis_k)
        dtype, layout = working_dtype(k.dtype), self._rotation.layout
        for_k = for_q = self._turns(q, k, axis_k, positions, offset, length, dtype)
        if working_dtype(q.dtype) != dtype:
            for_q = self._turns(q, k, axis_k, positions, offset, length, working_dtype(q.dtype))
        return turned(q, for_q.last(q.shape[axis_q]), layout, axis_q), turned(k, for_k, layout, axis_k)

    def rotate(
        self,
        x: Tensor,
        *others: Any,
        positions: PositionsLike | None = None,
        offset: int | Tensor = 0,
        length: int | None = None,
    ) -> Tensor:
        """Queries or keys, each by themselves -> the same, turned, times `attention_factor`; x is left alone.

        For cross-attention, whose queries and keys have positions of their own, and for a cache of one's own.
        Law: `forward(q, k)` is `rotate(q), rotate(k)` where q and k have the same positions.

        Args:
            x: queries or keys, as `forward` takes them; nested ones too.
            positions: of x, (S,) or (B, S); with several axes (S, axes) or (B, S, axes). Default 0, 1, ...
            offset: added to every position; an int, or one for each row (B,). The last queries of a longer
                sequence of keys take the number of keys before them.
            length: as in `forward`. Queries and keys that meet take the same one.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed.

        >>> rotary = RotaryEmbedding(4, scaling={"rope_type": "linear", "factor": 2.0})
        >>> q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 5, 4)
        >>> rotary.rotate(q, positions=[0, 4])[0, 0, 1]  # turned by 4 / 2 and 0.04 / 2
        tensor([-1.3254,  0.9798,  0.4932,  1.0198])
        >>> torch.equal(rotary.rotate(q, offset=3), rotary(q, k)[0])
        True
        """
        if others:
            refuse_misplaced(others, "x", "positions, offset and length")
        if is_jagged(x):
            return turned_by_row(partial(self.rotate, length=length), x, self.seq_dim, positions, offset)
        axis = self._axis(x, "x")
        turns = self._turns(x, x, axis, positions, offset, length, working_dtype(x.dtype))
        return turned(x, turns, self._rotation.layout, axis)

    def _axis(self, x: Any, name: str) -> int:
        """The axis of the sequence, from the front, of heads that have the width of this module."""
        axis = check_turnable(x, name, self.seq_dim)
        if x.shape[-1] != self.dim:
            refuse(
                f"{name} of shape {tuple(x.shape)}",
                f"heads of {self.dim} columns in the last axis",
                f"build RotaryEmbedding({x.shape[-1]}), or split the heads first",
            )
        return axis

    def _turns(
        self, q: Tensor, k: Tensor, axis: int, positions: Any, offset: Any, length: Any, dtype: torch.dtype
    ) -> Turns:
        """What the keys are turned by."""
        size, device, gain = k.shape[axis], k.device, self._attention_factor
        readable = is_readable(k)
        few = readable and q.numel() <= FEW and k.numel() <= FEW
        offset = check_offset(offset, Axes("k", (k.shape[0],) if axis > 0 else (), size, device, "heads"))
        length = self._length(length, positions, offset, size)
        if positions is None and not isinstance(offset, Tensor):
            # In a graph that leaves the length open, this would close it.
            if not torch.compiler.is_compiling() and offset + size - 1 > INT64_MAX:
                refuse(f"offset={offset} for {size} tokens", "positions within int64", "pass a smaller offset")
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
            if positions is not None or isinstance(offset, Tensor) or offset != 0:
                came = "positions" if positions is not None else "an offset"
                refuse(
                    f"{self._rule.kind} scaling with {came} and no length",
                    "the length of the whole sequence, on which the frequencies depend",
                    "pass length=, the same one for all parts of a sequence and every step of a decoder",
                )
            return size
        known = positions is None and not isinstance(offset, Tensor) and not torch.compiler.is_compiling()
        if known and length < offset + size <= INT64_MAX + 1:
            refuse(
                f"length={length} for tokens that end at {offset + size}",
                "the length of the whole sequence, at least to the end of this part",
                "pass length=, the same one for all parts of a sequence and every step of a decoder",
            )
        return cast(int, length)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        for name in ROTARY_NAMES:
            if prefix + name in state_dict:
                # Values follow the constructor: what a checkpoint holds is checked, and not kept.
                value = state_dict.pop(prefix + name)
                fault = rotary_fault(
                    name, value, self.convention, self.dim, self.sections, self._rule, self._attention_factor
                )
                if fault:
                    # The last argument of torch is the list of what went wrong.
                    others[-1].append(f"{prefix}{name}: {fault}")
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        convention = self.convention
        said = f"{self.dim}, rotary={convention.label}"
        # Of a convention without a name, the label says both.
        if convention.name is not None:
            if convention.spacing == "geometric" and convention.last is None:
                said += f", base={convention.base:g}"
            said += f", layout={convention.layout!r}"
        said += f", rotary_dim={self.rotary_dim}"
        if self._rule is not None:
            said += f", scaling={self._rule}"
        if self.sections is not None:
            said += f", sections={self.sections}"
        if self.attention_factor != 1:
            said += f", attention_factor={self.attention_factor:.6g}"
        return f"{said}, seq_dim={self.seq_dim}"


def _check_together(q: Tensor, k: Tensor, axis_q: int, axis_k: int) -> None:
    """Refuse a query and a key that do not lie beside each other."""
    if axis_q != axis_k or (axis_k > 0 and q.shape[0] != k.shape[0]):
        refuse(
            f"q of shape {tuple(q.shape)} and k of shape {tuple(k.shape)}",
            "as many axes, and one batch",
            "turn each by itself with the module's rotate(q) and rotate(k)",
        )
    if q.shape[axis_q] > k.shape[axis_k]:
        refuse(
            f"{q.shape[axis_q]} queries for {k.shape[axis_k]} keys",
            "at most as many queries as keys",
            "pass the keys of the cache too; for cross-attention use the module's rotate(q) and rotate(k)",
        )
    if q.device != k.device:
        refuse(f"q on {q.device} and k on {k.device}", "one device", "move one of them")

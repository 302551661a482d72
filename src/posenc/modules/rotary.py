"""The module that turns queries and keys by their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import torch
from torch import Tensor, nn

from ..convention import Convention, as_index, check_dim, resolve
from ..convention.scaling import Scaling, read_scaling
from ..encode.arguments import INT64_MAX, INT64_MIN, check_int
from ..encode.rotate import (
    Part,
    Rotation,
    check_places,
    check_turnable,
    rotation_of,
    sectioned,
    turns_of,
    turns_of_range,
)
from ..encode.turn import turned, working_dtype
from ..errors import ConventionError, refuse
from ..frequency import stretched
from ..layout import Layout
from ..trig.rounding import round_once
from .arguments import check_offset

_NO_SCALING = Scaling(None, 1.0, None, None, None, "default")


class RotaryEmbedding(nn.Module):
    """Turns queries and keys by their positions, so that their scores depend on distances alone.

    q and k are (..., S, dim) with `seq_dim=-2`, as (batch, heads, S, dim), or (batch, S, heads, dim) with
    `seq_dim=-3`; heads of k may be fewer. Shapes and dtypes stay. Values are never turned: only scores need order.
    There are no parameters and no buffers: the state dict is empty, and the `inv_freq` of a checkpoint is not needed.

    Args:
        dim: width of a head.
        rotary: a rotary name in `posenc.conventions`, as "llama", or a `Convention`.
        base: instead of that of the convention.
        layout: "halves" as in Llama, "interleaved" as in GPT-J; instead of that of the convention.
        scaling: `rope_parameters` or `rope_scaling` of a Hugging Face configuration; its `rope_theta`,
            `max_position_embeddings` and `partial_rotary_factor` may stand in it. Unknown fields are refused.
        rotary_dim: columns that turn, a number or a fraction of dim.
        sections: pairs for each axis of the positions, (time, row, column) in multimodal models.
        seq_dim: the axis of the sequence in q and k.

    `attention_factor` multiplies the columns that turn, as YaRN and LongRoPE ask for; set it to 1.0 to turn that off.

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
        axis = as_index(seq_dim)
        if axis is None or axis == -1:
            refuse(
                f"seq_dim={seq_dim!r}",
                "an axis before the last one",
                "pass -2 for (..., S, dim), -3 for (..., S, heads, dim)",
            )
        self.seq_dim: int = axis
        scaled = _NO_SCALING if scaling is None else read_scaling(scaling, self.dim)
        self.attention_factor = scaled.attention_factor
        self._rule = scaled.stretch
        self.convention = _overridden(resolve(rotary), base, layout, rotary_dim, scaled)
        if self._rule is not None and self.convention.stretch is not None:
            refuse(
                f"scaling beside {self.convention.label}, which is stretched already",
                "one rule",
                "leave scaling out, or pass a convention without one",
                error=ConventionError,
            )
        sections = scaled.sections if sections is None else sections
        self._rotation = rotation_of(self.convention, self.dim, self.convention.name)
        if sections is not None:
            self._rotation = sectioned(self._rotation, sections)
        self.sections = None if sections is None else tuple(sections)
        self.rotary_dim = self._rotation.width
        # Refuses, here and not in the first forward, a rule that does not fit the ladder.
        self._rotation_for(None)

    def _rotation_for(self, length: int | None) -> Rotation:
        """The turns of a sequence of this length, where the rule asks for it."""
        rule = self._rule
        if rule is None:
            return self._rotation
        from ..convention.options import check_stretch

        parts = []
        for part in self._rotation.parts:
            check_stretch(rule, part.ladder.pairs)
            parts.append(Part(part.axis, stretched(part.ladder, rule, length), part.begin, part.end))
        return self._rotation._replace(parts=tuple(parts))

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        *,
        positions: Tensor | None = None,
        offset: int | Tensor = 0,
        length: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Queries and keys -> the same, turned, times `attention_factor`; what came is left alone.

        Args:
            q, k: queries and keys; a q shorter than k takes the last positions, as a decoder with a cache does.
            positions: of k, (S,) or (B, S); (..., axes) for several axes. Default 0, 1, ...
            offset: added to every position; an int, or one for each row (B,).
            length: of the whole sequence, for dynamic and LongRoPE scaling; None means offset + S for an int
                offset. A cached key keeps the turn that it was given, so decoders fix it.
        """
        axis_q, axis_k = check_turnable(q, "q", self.seq_dim), check_turnable(k, "k", self.seq_dim)
        self._check_widths(q, k)
        size, short = k.shape[axis_k], q.shape[axis_q]
        if short > size:
            refuse(
                f"{short} queries for {size} keys", "at most as many queries as keys", "pass the keys of the cache too"
            )
        rotation = self._rotation_of(positions, offset, length, size)
        dtype = working_dtype(k.dtype if k.dtype == q.dtype else torch.promote_types(q.dtype, k.dtype))
        scaled = self.attention_factor != 1.0
        cosine, sine = self._turns(k, axis_k, positions, offset, rotation, torch.float64 if scaled else dtype)
        if scaled:
            # In float64, so that what pairs are turned with is rounded once all the same.
            cosine, sine = (round_once(part * self.attention_factor, dtype) for part in (cosine, sine))
        made = []
        for x, axis in ((q, axis_q), (k, axis_k)):
            wide = working_dtype(x.dtype)
            c, s = (part[..., size - x.shape[axis] :, :].to(wide) for part in (cosine, sine))
            made.append(turned(x, c, s, rotation.layout, axis))
        return made[0], made[1]

    def _check_widths(self, q: Tensor, k: Tensor) -> None:
        for name, x in (("q", q), ("k", k)):
            if x.shape[-1] != self.dim:
                refuse(
                    f"{name} of shape {tuple(x.shape)}",
                    f"heads of {self.dim} columns in the last axis",
                    f"build RotaryEmbedding({x.shape[-1]}), or split the heads first",
                )
        if q.device != k.device:
            refuse(f"q on {q.device} and k on {k.device}", "one device", "move one of them")

    def _rotation_of(self, positions: Any, offset: Any, length: int | None, size: int) -> Rotation:
        if self._rule is None or not self._rule.needs_length:
            return self._rotation_for(None) if self._rule is not None else self._rotation
        if length is not None:
            length = check_int(length, "length", 0, INT64_MAX, "pass the length of the whole sequence")
        elif positions is not None or isinstance(offset, Tensor):
            refuse(
                f"{self._rule.kind} scaling with positions or a tensor offset, and no length",
                "the length of the whole sequence, on which the frequencies depend",
                "pass length, the same at every step of a decoder",
            )
        else:
            length = offset + size
        return self._rotation_for(length)

    def _turns(
        self, k: Tensor, axis: int, positions: Any, offset: Any, rotation: Rotation, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        """Cosine and sine (S, pairs) or (B, S, pairs) of the keys."""
        size = k.shape[axis]
        batch = (k.shape[0],) if axis > 0 else ()
        offset = check_offset(offset, batch, k.device)
        eager = k.device.type == "cpu" and not torch.compiler.is_compiling() and type(k) in (Tensor, nn.Parameter)
        if positions is None and not isinstance(offset, Tensor):
            if offset + size - 1 > INT64_MAX or offset < INT64_MIN:
                refuse(f"offset={offset} with {size} keys", "positions within int64", "pass a smaller offset")
            if eager:
                return turns_of_range(offset, size, rotation, dtype)
            places = torch.arange(size, dtype=torch.int64, device=k.device) + offset
        elif positions is None:
            places = torch.arange(size, dtype=torch.int64, device=k.device) + offset.unsqueeze(-1)
        else:
            places = check_places(positions, k, axis, rotation)
            if isinstance(offset, Tensor):
                places = places + (offset.view(-1, 1, 1) if rotation.axes > 1 else offset.unsqueeze(-1))
            elif offset:
                places = places + offset
            return turns_of(places, rotation, dtype)
        if rotation.axes > 1:
            places = places.unsqueeze(-1).expand(*places.shape, rotation.axes)
        return turns_of(places, rotation, dtype)

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        ladder = self._rotation.parts[0].ladder
        said = f"{self.dim}, rotary={self.convention.label}, base={float(ladder.base):g}"
        said += f", layout={self.convention.layout!r}"
        said += f", rotary_dim={self.rotary_dim}, seq_dim={self.seq_dim}"
        if self._rule is not None:
            said += f", scaling={self._rule}"
        if self.sections is not None:
            said += f", sections={self.sections}"
        return said + (f", attention_factor={self.attention_factor:.6g}" if self.attention_factor != 1.0 else "")


def _overridden(
    convention: Convention, base: float | None, layout: Layout | None, rotary_dim: float | None, scaled: Scaling
) -> Convention:
    """The convention with what was passed beside it; two that contradict each other are refused."""
    changes: dict[str, Any] = {}
    for name, passed, read in (("base", base, scaled.base), ("rotary_dim", rotary_dim, scaled.fraction)):
        if passed is not None and read is not None and passed != read:
            field = {"base": "rope_theta", "rotary_dim": "partial_rotary_factor"}[name]
            refuse(
                f"{name}={passed!r} beside {field}={read!r} of scaling",
                "one of them, or both alike",
                f"leave {name} out",
                error=ConventionError,
            )
        if (passed if passed is not None else read) is not None:
            changes[name] = passed if passed is not None else read
    if layout is not None:
        if layout not in get_args(Layout):
            refuse(f"layout={layout!r}", " or ".join(map(repr, get_args(Layout))), "choose one", error=ConventionError)
        changes["layout"] = layout
    changed = {name: value for name, value in changes.items() if getattr(convention, name) != value}
    return replace(convention, name=None, released_as=None, **changed) if changed else convention

"""The layer that tells a diffusion model what time it is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..arguments.devices import check_device, default_device
from ..convention import Convention, check_dim, resolve
from ..encoding.arguments import (
    MERGED_FROM,
    PositionsLike,
    as_positions,
    check_dtype,
    is_followed,
    is_readable,
    with_float64,
)
from ..encoding.prepared import prepared
from ..encoding.values import encode, encoded
from ..errors import ConventionError, DtypeError, InputError, refuse
from ..frequency import TURN
from ..layout import join
from ..phase import phase_of
from ..trig.quarter import cos_sin
from ..trig.rounding import FORMATS


class TimestepEmbedding(nn.Module):
    """Times of a diffusion -> their encodings, as DDPM and its heirs feed them to their first linear layer.

    Times (...) of any shape, discrete or continuous, in the units of the system: 0 to 999 for DDPM, ADM, DiT and
    Stable Diffusion, [0, 1] for pi0, t * 999 for the discrete models of score-SDE. Integers and floats of every
    dtype but bool and uint64; values (..., dim) are those of `encode`: formed in float64, rounded once, also under
    autocast. float16 and bfloat16 times are taken as they came, although neighbours are one number there from
    2048 and 256 on; that is warned of once, where values can be seen (on the CPU in eager mode). So are float times
    that all lie in [0, 1], where the convention expects thousands: their encodings are nearly one.

    There is no parameter and no state: the state dict is empty. A cast of the module casts its results.
    Gradients with respect to the time are exact and of any order, in reverse and forward mode (`torch.func.jvp`, as
    consistency models and mean flows need it). On an accelerator and inside a compiled or exported graph no value
    is looked at, and a time that is not finite gives NaN.

    Args:
        dim: width of the encoding.
        convention: a name in `posenc.conventions` or a `Convention`, of one axis: "ddpm-timestep", "adm-timestep",
            "dit-timestep", "stable-diffusion-timestep", "score-sde-timestep", "pi0-timestep" and others.
        dtype: of the result; None is torch's default when the module is made.
        device: of the result; None is that of the times.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Ho et al. 2020 (DDPM), Dhariwal and Nichol 2021 (ADM), Song et al. 2021 (score-SDE), Peebles and Xie
    2023 (DiT), Rombach et al. 2022 (Stable Diffusion), Black et al. 2024 (pi0).

    >>> embed = TimestepEmbedding(4, "dit-timestep")
    >>> embed
    TimestepEmbedding(4, convention='dit-timestep', dtype=torch.float32)
    >>> embed(torch.tensor([0, 999, 0.5]))
    tensor([[ 1.0000,  1.0000,  0.0000,  0.0000],
            [ 0.9996, -0.8445, -0.0265, -0.5356],
            [ 0.8776,  1.0000,  0.4794,  0.0050]])
    """

    def __init__(
        self,
        dim: int,
        convention: str | Convention = "ddpm-timestep",
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.dim = check_dim(dim)
        self.convention = resolve(convention, "timestep")
        if self.convention.axes:
            refuse(
                f"convention {self.convention.label} with axes {self.convention.axes}",
                "one axis: the time",
                'pass one of the timestep family, as "ddpm-timestep"',
                error=ConventionError,
            )
        # Refuses, here and not in the first forward, what is no encoding of whole rows.
        self._plan = prepared(self.convention, self.dim).plan
        # Radians for each unit of time, which derivatives alone need.
        self._radians = tuple(2 * math.pi * (step / TURN) for step in self._plan.blocks[0].ladder.steps)
        self.dtype = check_dtype(dtype)
        self.device = None if device is None else check_device(device)
        # Where the fastest pair turns by a radian or less from time 0 to time 1, times come in thousands.
        self._is_slow = max(map(abs, self._radians)) <= 1
        self._warned, self._is_judged = False, False

    def extra_repr(self) -> str:
        """All that decides what comes out."""
        said = f"{self.dim}, convention={self.convention.label}, dtype={self.dtype}"
        return said if self.device is None else said + f", device={str(self.device)!r}"

    def forward(self, t: PositionsLike) -> Tensor:
        """Times (...) -> (..., dim); a tensor, a number or a sequence of numbers."""
        if not isinstance(t, Tensor):
            halves: list[Tensor] = []
            places = as_positions(_widened(t, halves), "t")
            for half in halves:
                self._warn(half)
            self._warn_of_fractions(places)
            device = default_device() if self.device is None else self.device
            return encode(places, self.dim, self.convention, dtype=self.dtype, device=device)
        fixed = t.detach()
        if t.dtype in MERGED_FROM:
            self._warn(fixed)
            fixed = fixed.float()
        device = t.device if self.device is None else self.device
        places = as_positions(fixed, "t")
        self._warn_of_fractions(places)
        if device.type == "cpu" and is_readable(places):
            # All that `encode` would ask has been asked.
            rows = encoded(places, self._plan, self.dtype)
        else:
            rows = encode(places, self.dim, self.convention, dtype=self.dtype, device=device)
        if is_followed(t):
            rows = rows + self._followed(t, places).to(rows.device, rows.dtype)
        return rows

    def _warn(self, t: Tensor) -> None:
        if self._warned or not is_readable(t) or not t.numel():
            return
        top, limit = t.abs().max().item(), MERGED_FROM[t.dtype]
        if top >= limit:
            self._warned = True
            warnings.warn(
                f"times of {t.dtype} up to {top:g} came: from {limit} on neighbouring times are one number in that "
                f"dtype, and are taken as they are; keep times in int64 or float32 until they reach this layer",
                stacklevel=5,  # the line that called the layer
            )

    def _warn_of_fractions(self, places: Tensor) -> None:
        """Warn of times in [0, 1], by the first that come: a sampler that ends there has begun above."""
        if self._is_judged or not self._is_slow or not places.is_floating_point():
            return
        if not is_readable(places) or not places.numel():
            return
        low, high = (bound.item() for bound in torch.aminmax(places))
        # Zero is zero in every unit.
        if low == high == 0:
            return
        self._is_judged = True
        if low >= 0 and high <= 1:
            warnings.warn(
                f"float times from {low:g} to {high:g} came: in convention {self.convention.label} no pair turns by "
                f"more than a radian from 0 to 1, so their encodings are nearly one; multiply them by the number of "
                f"steps (t * 1000), or pass a convention with position_scale=1000",
                stacklevel=5,  # the line that called the layer
            )

    def _followed(self, t: Tensor, places: Tensor) -> Tensor:
        """Zeros (..., dim), float64, that change with t as the encoding does, to every order."""
        plan = self._plan
        if not plan.is_turned:
            refuse(
                f"times that require a gradient, for convention {self.convention.label}",
                "a convention whose pairs turn with the time, and do nothing else",
                "pass t.detach()",
                error=InputError,
            )
        steps = prepared(self.convention, self.dim, places.device).steps[0][0]
        cosine, sine = cos_sin(phase_of(places.unsqueeze(-1), steps))
        # Turned by nothing: the sum formulas hold the derivatives.
        here = with_float64(t).double()
        turn = (here - here.detach()).unsqueeze(-1) * torch.tensor(
            self._radians, dtype=torch.float64, device=here.device
        )
        sines = sine * turn.cos() + cosine * turn.sin() - sine
        cosines = cosine * turn.cos() - sine * turn.sin() - cosine
        return join(sines, cosines, plan.blocks[0].columns) * plan.gain

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> TimestepEmbedding:  # noqa: FBT001, FBT002 - torch's signature
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        # No tensor is held: an empty one shows what a cast or a move would do to it.
        moved = fn(torch.empty(0, dtype=self.dtype, device=self.device or "cpu"))
        if moved.dtype not in FORMATS:
            refuse(
                f"a cast of the layer to {moved.dtype}",
                "float64, float32, bfloat16 or float16",
                "cast the rest of the model alone",
                error=DtypeError,
            )
        self.dtype = moved.dtype
        if self.device is not None:
            self.device = moved.device
        return self


def _widened(t: Any, halves: list[Tensor]) -> Any:
    """Times with all of 16 bits in float32; those that came in 16 are collected in `halves`."""
    if isinstance(t, (list, tuple)):
        return [_widened(each, halves) for each in t]
    if isinstance(t, Tensor):
        if t.dtype not in MERGED_FROM:
            return t
        halves.append(t.detach())
        return t.float()
    if getattr(t, "dtype", None) != "float16":
        return t
    import numpy as np

    wide = t.astype(np.float32)
    halves.append(torch.from_numpy(np.array(wide)).half())
    return wide

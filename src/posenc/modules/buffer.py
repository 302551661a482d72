"""The table of a layer: a buffer of exact rows, filled again by casts, by loading and when it leaves meta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..arguments.memory import made
from ..convention import Convention
from ..encoding.values import table
from ..errors import DtypeError, refuse
from ..trig.rounding import FORMATS
from .loading import accepted_names, fault_of


class BufferedTable(nn.Module):
    """A module with the buffer `pe`, (1, max_len, d_model) with `batch_first`, else (max_len, 1, d_model)."""

    pe: Tensor
    d_model: int
    max_len: int
    batch_first: bool
    convention: Convention
    persistent: bool

    def _hold(self, dtype: torch.dtype, device: torch.device | None, *, persistent: bool) -> None:
        """Make the buffer, and fill it."""
        self.persistent = persistent
        with torch.inference_mode(False):
            shape, fix = self._shape(), "pass a smaller max_len: rows beyond it are computed"
            pe = made(lambda: torch.empty(shape, dtype=dtype, device=device), shape, dtype, device, "a table", fix)
            self.register_buffer("pe", pe, persistent=persistent)
        self.reset_parameters()

    def _shape(self) -> tuple[int, int, int]:
        return (1, self.max_len, self.d_model) if self.batch_first else (self.max_len, 1, self.d_model)

    def reset_parameters(self) -> None:
        """Fill the table with its values; nothing on a meta device. Call it after `to_empty`."""
        self._check_table()
        # A fake tensor of a tracer has no values either.
        if self.pe.is_meta or type(self.pe) is not Tensor:
            return
        with torch.inference_mode(False):
            if self.pe.is_inference():
                self.pe = torch.empty_like(self.pe)
            out = self.pe.detach().view(self.max_len, self.d_model)
            table(self.max_len, self.d_model, self.convention, out=out)

    def _check_table(self) -> None:
        """Refuse a table that is not a buffer: to fill it would overwrite what was trained."""
        pe = self.pe
        if type(pe) is Tensor:
            return
        if not isinstance(pe, Tensor) or isinstance(pe, nn.Parameter):
            refuse(
                f"a layer whose table 'pe' is {'a parameter' if isinstance(pe, Tensor) else pe}",
                "the buffer 'pe', which is not trained",
                "train a LearnedPositionalEmbedding, which begins from a convention if you pass one",
            )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> BufferedTable:  # noqa: FBT001, FBT002 - torch's signature
        self._check_table()
        before = self.pe
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.pe.dtype not in FORMATS:
            came, self.pe = self.pe.dtype, before
            refuse(
                f"a cast of the layer to {came}",
                "float64, float32, bfloat16 or float16",
                "cast only the rest of the model",
                error=DtypeError,
            )
        # A cast rounds what was rounded already, and a buffer that comes from meta is empty.
        if self.pe.dtype != before.dtype or (before.is_meta and not self.pe.is_meta):
            self.reset_parameters()
        return self

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,  # noqa: FBT001 - torch's signature
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        self._check_table()
        device = torch.device("cpu")
        for name in accepted_names(self.convention):
            if prefix + name in state_dict:
                value = state_dict.pop(prefix + name)
                fault = fault_of(name, value, self.d_model, self.convention)
                if fault:
                    error_msgs.append(f"{prefix}{name}: {fault}")
                elif not value.is_meta:
                    device = value.device
        if self.pe.is_meta and local_metadata.get("assign_to_params_buffers", False):
            self.pe = torch.empty_like(self.pe, device=device)
        if not self.pe.is_meta:
            self.reset_parameters()
        if self.persistent:
            state_dict[prefix + "pe"] = self.pe
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

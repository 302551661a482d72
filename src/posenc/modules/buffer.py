"""The table of a layer, a buffer of exact rows that casts, checkpoints and the hands of others leave right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from ..arguments.memory import made
from ..convention import Convention
from ..encoding.arguments import is_readable
from ..encoding.values import table
from ..errors import DtypeError, refuse
from ..trig.rounding import FORMATS
from .loading import accepted_names, fault_of
from .seal import Seal


class BufferedTable(nn.Module):
    """A module with the buffer `pe`, (1, max_len, d_model) with `batch_first`, else (max_len, 1, d_model)."""

    pe: Tensor
    d_model: int
    max_len: int
    batch_first: bool
    convention: Convention
    _seal = Seal()

    def _hold(self, dtype: torch.dtype, device: torch.device | None, *, persistent: bool) -> None:
        """Make the buffer, and fill it."""
        with torch.inference_mode(False):
            shape, fix = self._shape(), "pass a smaller max_len: rows beyond it are computed"
            pe = made(lambda: torch.empty(shape, dtype=dtype, device=device), shape, dtype, device, "a table", fix)
            self.register_buffer("pe", pe, persistent=persistent)
        self.reset_parameters()

    def _shape(self) -> tuple[int, int, int]:
        return (1, self.max_len, self.d_model) if self.batch_first else (self.max_len, 1, self.d_model)

    def reset_parameters(self) -> None:
        """Fill the table with its values; nothing on a meta device. Call it after `to_empty`."""
        # A fake tensor of a tracer has no values either.
        if self.pe.is_meta or type(self.pe) is not Tensor:
            return
        with torch.inference_mode(False):
            if self.pe.is_inference():
                self.pe = torch.empty_like(self.pe)
            out = self.pe.detach().view(self.max_len, self.d_model)
            table(self.max_len, self.d_model, self.convention, out=out)
        self._set_seal()

    def _refuse_foreign_table(self) -> NoReturn:
        refuse(
            "a layer whose table is no buffer any more",
            "the buffer 'pe', which is not trained",
            "train a LearnedPositionalEmbedding, which begins from a convention where you pass one",
        )

    def _set_seal(self) -> None:
        self._seal = Seal(self.pe) if is_readable(self.pe) else Seal()

    def _is_touched(self) -> bool:
        """Whether, on the CPU in eager mode, others have been at the table, and do not train it."""
        if self._buffers.get("pe") is None:
            self._refuse_foreign_table()
        return is_readable(self.pe) and not self._seal.holds(self.pe) and not self.pe.requires_grad

    def _fill_again(self) -> None:
        """Put the values back, from a copy from the second time on: DDP writes before every forward."""
        values = self._seal.values
        with torch.inference_mode(False):
            if not self._seal.is_on(self.pe):
                # What stands there may belong to somebody.
                self.pe = torch.empty(self._shape(), dtype=self.pe.dtype, device="cpu")
            if values is not None and values.dtype == self.pe.dtype and not self.pe.is_inference():
                self.pe.copy_(values)
            else:
                self.reset_parameters()
                values = self.pe.detach().clone()
        self._seal = Seal(self.pe, values)

    def _look(self) -> bool:
        """Fill the table again where others were at it; runs when a graph is made, and is not in the graph.

        A graph looks at nothing: what is written later is seen by the next eager call alone.
        """
        # This is no part of what is compiled, though the compiler has raised its flag.
        kept = getattr(torch.compiler, "_is_compiling_flag", None)
        try:
            if kept is not None:
                torch.compiler._is_compiling_flag = False  # noqa: SLF001 - torch has no public way out
            self._rows()
        finally:
            if kept is not None:
                torch.compiler._is_compiling_flag = kept  # noqa: SLF001 - as above
        return True

    # What torch.compiler.assume_constant_result sets, which would load all of torch's compiler, almost a second.
    _look._dynamo_marked_constant = True  # type: ignore[attr-defined]  # noqa: SLF001

    def _rows(self) -> Tensor:
        """The table (max_len, d_model); on the CPU in eager mode filled again where other hands were at it.

        Wrappers cast buffers past the module, loaders put empty memory in their place, initialisers run over them.
        """
        if self._is_touched():
            self._fill_again()
        return self.pe.view(self.max_len, self.d_model)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> BufferedTable:  # noqa: FBT001, FBT002 - torch's signature
        before, is_touched = self.pe, self._is_touched()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.pe.dtype not in FORMATS:
            came, self.pe = self.pe.dtype, before
            refuse(
                f"a cast of the layer to {came}",
                "float64, float32, bfloat16 or float16",
                "cast the rest of the model alone",
                error=DtypeError,
            )
        # A cast rounds what was rounded already, and a buffer that comes from meta is empty.
        if (
            self.pe.dtype != before.dtype
            or (before.is_meta and not self.pe.is_meta)
            or is_touched
            or self._is_touched()
        ):
            self.reset_parameters()
        else:
            self._set_seal()
        return self

    def _save_to_state_dict(self, *args: Any) -> None:
        if self._is_touched():
            self._fill_again()
        super()._save_to_state_dict(*args)

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
        if "pe" not in self._non_persistent_buffers_set:
            state_dict[prefix + "pe"] = self.pe
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        # torch has copied the table onto itself.
        self._set_seal()

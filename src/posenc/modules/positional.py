"""The layer that adds a sinusoidal encoding to embeddings."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from ..arguments.devices import check_device
from ..convention import Convention, check_dim, resolve
from ..encoding.arguments import (
    INT64_MAX,
    WITHOUT_FLOAT64,
    check_dtype,
    check_int,
    is_readable,
    with_float64,
)
from ..encoding.prepared import prepared
from ..encoding.values import computed, rows_of, single
from ..positions.masks import counted
from ..tracing import registers
from .arguments import (
    check_bool,
    check_input,
    check_mask,
    check_offset,
    check_positions,
    check_probability,
    refuse_misplaced,
    sum_of,
)
from .axes import axes_of
from .beyond import rows_beyond
from .buffer import BufferedTable
from .jagged import by_row, is_jagged
from .narrow import narrowed


class PositionalEncoding(BufferedTable):
    """Adds the encoding of positions to embeddings, then dropout: x + pe[:, :x.size(1)].

    Input and output have one shape and dtype: (..., S, d_model) with `batch_first`, else (S, d_model) or
    (S, B, d_model). Where the dtype of the table differs from that of x, the sum is formed in the wider one and
    rounded once.

    The table is the buffer `pe`, (1, max_len, d_model) with `batch_first`, else (max_len, 1, d_model): not
    trained, moved with the module, in its state dict when `persistent`. It is exact, rounded once, and is
    computed afresh by casts of the module, by loading, when it leaves the meta device, and by `reset_parameters()`.
    In between the layer adds what the buffer holds: what you write into it, as in an ablation, stays until then. It
    does not reach rows that are computed: beyond `max_len`, at negative or fractional positions, at positions that
    are given or counted (nested x, fairseq's padding) on an accelerator or in a compiled graph, and everywhere in an
    exported one. Wrappers that cast buffers by
    themselves leave rows that are rounded twice: call `reset_parameters()` after them.
    Loading a checkpoint checks its table and keeps this one, so tables of any length load strictly.
    A trace of TorchScript reads rows inside `max_len` from the buffer, and computes those beyond on the device that it
    was traced on; programs of `torch.export` know no such bound.

    Args:
        d_model: width of the embeddings; odd widths too.
        dropout: probability, applied to the sum in training.
        max_len: rows held ready; no limit on what may come.
        convention: a name in `posenc.conventions`, or a `Convention`.
        batch_first: layout of x. `torch.nn.Transformer` itself has False as its default.
        persistent: whether `pe` is in the state dict.
        trained_length: warn once where a longer sequence comes: its encoding is defined, but no model trained
            on shorter ones has seen it.
        device, dtype: of the table.

    Source: Vaswani et al. 2017, section 3.5.

    >>> layer = PositionalEncoding(4, dropout=0.0, max_len=10)
    >>> layer(torch.zeros(2, 3, 4))[1]
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    >>> layer(torch.zeros(1, 1, 4), offset=2)
    tensor([[[ 0.9093, -0.4161,  0.0200,  0.9998]]])
    """

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.1,
        max_len: int = 5000,
        *,
        convention: str | Convention = "transformer",
        batch_first: bool = True,
        persistent: bool = True,
        trained_length: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.d_model = check_dim(d_model, "d_model")
        self.max_len = check_int(max_len, "max_len", 1, INT64_MAX, "pass the number of rows to hold ready")
        self.convention = resolve(convention, "additive")
        self.batch_first = check_bool(batch_first, "batch_first")
        if trained_length is not None:
            trained_length = check_int(trained_length, "trained_length", 1, INT64_MAX, "pass the length of training")
        self.trained_length = trained_length
        self._warned = False
        self._plan = single(self.convention.plan(self.d_model))
        self.dropout = nn.Dropout(check_probability(dropout, "dropout"))
        persistent = check_bool(persistent, "persistent")
        self._hold(check_dtype(dtype), None if device is None else check_device(device), persistent=persistent)

    def extra_repr(self) -> str:
        """All that decides what comes out, but dropout, which shows itself."""
        said = f"{self.d_model}, max_len={self.max_len}, convention={self.convention.label}"
        said += f", batch_first={self.batch_first}, dtype={self.pe.dtype}"
        if not self.persistent:
            said += ", persistent=False"
        return said if self.trained_length is None else said + f", trained_length={self.trained_length}"

    def forward(
        self,
        x: Tensor,
        *others: Any,
        positions: Tensor | None = None,
        offset: int | Tensor = 0,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Embeddings -> embeddings with their positions, of the same shape and dtype; x is left alone.

        Args:
            x: (..., S, d_model) batch first; (S, d_model) or (S, B, d_model) sequence first. A nested tensor of
                layout torch.jagged (B, S*, d_model) gives one of the same rows, each counted from 0.
            positions: (S,) or (B, S) in both layouts, integers or floats, negative too; default 0, 1, ...
                float16 and bfloat16 below 2048 and 256, as in `encode`.
            offset: of the first token, an int or one for each row (B,); added to `positions`.
            padding_mask: (B, S) bool, True where there is padding: those tokens get no encoding. They are
                counted all the same, so for left-padded text pass `positions`. Conventions whose `numbering` is
                "tokens", as in fairseq, count only real tokens: without `positions`, the first one of a row is
                at `offset`, the number of tokens before it.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed. On an accelerator and
                inside a compiled graph no value is looked at, and a position that is not finite gives NaN.
        """
        # One token or one batch in the common form, with as little Python as can be.
        buffers, modules = registers(self)
        pe = buffers.get("pe")
        if (
            not others
            and positions is None
            and padding_mask is None
            and type(offset) is int
            and self.batch_first
            and self.trained_length is None
            and x.__class__ is Tensor
            and pe.__class__ is Tensor
            and x.dtype is pe.dtype
            and x.layout is torch.strided
            and not x.is_nested
            and not torch.compiler.is_dynamo_compiling()
        ):
            shape = x.shape
            if (
                len(shape) == 3
                and shape[2] == self.d_model
                and offset >= 0
                and offset + shape[1] <= self.max_len
                and (x.is_cpu if pe.is_cpu else x.device == pe.device)
            ):
                x = x + pe.narrow(1, offset, shape[1])
                dropout = modules["dropout"]
                return dropout(x) if dropout.training else x  # type: ignore[misc,union-attr]
        if others:
            refuse_misplaced(others, "x", "positions, offset and padding_mask")
        if is_jagged(x):
            return by_row(self.forward, x, positions=positions, offset=offset, padding_mask=padding_mask)
        check_input(x, self.d_model, batch_first=self.batch_first)
        total = x + self.shared_rows(x, positions=positions, offset=offset, padding_mask=padding_mask)
        x = narrowed(total, x.dtype)
        return self.dropout(x) if self.dropout.training else x

    def rows_for(
        self,
        x: Tensor,
        *,
        positions: Tensor | None = None,
        offset: int | Tensor = 0,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """The encoding that `forward` adds to x, of a shape that broadcasts against it, in the dtype of `pe`.

        The tensor is new: writing to it changes neither the table nor another layer.
        """
        check_input(x, self.d_model, batch_first=self.batch_first)
        return self.shared_rows(x, positions=positions, offset=offset, padding_mask=padding_mask).clone()

    def shared_rows(
        self,
        x: Tensor,
        *,
        positions: Tensor | None = None,
        offset: int | Tensor = 0,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """What `rows_for` gives; it may share memory with the table or a cache, and is not written to."""
        self._check_table()
        axes = axes_of(x, batch_first=self.batch_first)
        length = axes.length
        offset = check_offset(offset, axes)
        if positions is not None:
            positions = check_positions(positions, axes)
        if padding_mask is not None:
            padding_mask = check_mask(padding_mask, axes)
            if positions is None and self.convention.numbering == "tokens":
                positions = with_float64(counted(~padding_mask, 0))
        if positions is None and not isinstance(offset, Tensor):
            rows = self._range(offset, length, x.device)
        else:
            if positions is None:
                positions = with_float64(torch.arange(length, dtype=torch.int64, device=x.device))
            rows = self._chosen(sum_of(positions, offset)).to(x.device)
        if padding_mask is not None:
            rows = rows.masked_fill(padding_mask.unsqueeze(-1), 0)
        if self.batch_first or x.ndim == 2:
            return rows
        return rows.unsqueeze(1) if rows.ndim == 2 else rows.transpose(0, 1)

    def _range(self, offset: int, length: int, device: torch.device) -> Tensor:
        """Rows (length, d_model) of offset, offset + 1, ..."""
        if length:
            self._warn(offset + length)
        # An exported program must run at any length: nothing in it may hang on the length of the table.
        exporting, pe = torch.compiler.is_exporting(), self.pe
        if not exporting and offset >= 0 and offset + length <= self.max_len and device == pe.device:
            return pe.view(self.max_len, self.d_model).narrow(0, offset, length)
        here = device.type == "cpu" and type(pe) is Tensor and not torch.compiler.is_compiling()
        if here or device.type in WITHOUT_FLOAT64:
            return rows_beyond(offset, length, self.d_model, self.convention, pe.dtype).to(device)
        return self._computed(torch.arange(length, dtype=torch.int64, device=device) + offset)

    def _chosen(self, positions: Tensor) -> Tensor:
        """Rows (..., d_model) of given positions (...)."""
        if not is_readable(positions):
            return self._computed(positions)
        if positions.dtype == torch.int64 and positions.numel():
            low, high = (int(bound) for bound in torch.aminmax(positions))
            self._warn(high + 1)
            if low >= 0 and high < self.max_len and self.pe.device == positions.device:
                return nn.functional.embedding(positions, self.pe.view(self.max_len, self.d_model))
        elif positions.numel():
            self._warn(positions.max().item() + 1)
        return rows_of(positions, self._plan, self.pe.dtype)

    def _computed(self, positions: Tensor) -> Tensor:
        """Rows of positions on any device and inside any graph, without a look at their values."""
        # The steps are no buffer: averages of models reach integers too, in float32.
        return computed(positions, prepared(self.convention, self.d_model, positions.device), self.pe.dtype)

    def _warn(self, needed: float) -> None:
        limit = self.trained_length
        if limit is not None and needed > limit and not self._warned and not torch.compiler.is_compiling():
            self._warned = True
            warnings.warn(
                f"positions up to {needed - 1:g} came, but trained_length={limit}: "
                f"their encoding is defined, a model trained on shorter sequences has not seen it",
                stacklevel=7,  # the line that called the layer
            )

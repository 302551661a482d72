"""The front of an encoder: token ids in, embeddings that know their place out."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..arguments.memory import made
from ..arguments.tensors import check_dense
from ..convention import Convention
from ..encoding.arguments import INT64_MAX, check_int, is_readable
from ..errors import DtypeError, refuse
from .arguments import refuse_misplaced
from .jagged import by_row, is_jagged
from .narrow import narrowed
from .positional import PositionalEncoding


class SequenceEmbedding(nn.Module):
    """Token ids -> sqrt(d_model) * vectors + encoding, then dropout.

    Ids (..., S) batch first give (..., S, d_model); (S,) or (S, B) sequence first give (S, d_model) or
    (S, B, d_model). Vectors begin normal with standard deviation d_model^-0.5, so that what is added has the
    size of the encoding; Law: forward(ids) == sqrt(d_model) * embedding(ids) + encoding, to rounding, in one
    pass over memory after the look-up.

    Args:
        num_embeddings: size of the vocabulary.
        d_model, dropout, max_len, convention, batch_first, persistent, trained_length, device, dtype: as in
            `PositionalEncoding`.
        padding_idx: the id of padding: its tokens come out as zero vectors. Columns are counted all the same,
            except where the convention counts real tokens, as fairseq does.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.

    >>> front = SequenceEmbedding(100, 8, dropout=0.0, padding_idx=0)
    >>> out = front(torch.tensor([[5, 7, 0]]))
    >>> out.shape, out[0, 2].abs().max().item()
    (torch.Size([1, 3, 8]), 0.0)
    """

    def __init__(
        self,
        num_embeddings: int,
        d_model: int,
        dropout: float = 0.1,
        max_len: int = 5000,
        *,
        padding_idx: int | None = None,
        convention: str | Convention = "transformer",
        batch_first: bool = True,
        persistent: bool = True,
        trained_length: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = check_int(num_embeddings, "num_embeddings", 1, INT64_MAX, "pass the vocabulary's size")
        if padding_idx is not None:
            fix = "pass the id of the padding token"
            padding_idx = check_int(padding_idx, "padding_idx", 0, self.num_embeddings - 1, fix)
        self.padding_idx = padding_idx
        self.encoding = PositionalEncoding(
            d_model,
            dropout,
            max_len,
            convention=convention,
            batch_first=batch_first,
            persistent=persistent,
            trained_length=trained_length,
            device=device,
            dtype=dtype,
        )
        shape, held = (self.num_embeddings, self.encoding.d_model), self.encoding.pe
        self.embedding = made(
            lambda: nn.Embedding(*shape, padding_idx=padding_idx, device=device, dtype=dtype),
            shape,
            held.dtype,
            held.device,
            "an embedding",
            "pass the size of the vocabulary as num_embeddings",
        )
        self.scale = math.sqrt(self.encoding.d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors anew: normal, standard deviation d_model^-0.5, zero for padding."""
        with torch.no_grad():
            self.embedding.weight.normal_(0, 1 / self.scale)
            if self.padding_idx is not None:
                self.embedding.weight[self.padding_idx] = 0

    def extra_repr(self) -> str:
        """What the submodules do not show."""
        return f"padding_idx={self.padding_idx}" if self.padding_idx is not None else ""

    def forward(self, ids: Tensor, *others: Any, positions: Tensor | None = None, offset: int | Tensor = 0) -> Tensor:
        """Ids -> embeddings with their positions; `positions` and `offset` as in `PositionalEncoding`.

        Nested ids of layout torch.jagged (B, S*) give (B, S*, d_model), each row counted from 0.
        """
        if others:
            refuse_misplaced(others, "ids", "positions and offset")
        if is_jagged(ids, "ids"):
            return by_row(self.forward, ids, positions=positions, offset=offset)
        ids = self._checked(ids)
        padding = None if self.padding_idx is None else ids == self.padding_idx
        encoding = self.encoding
        in_rows = padding if padding is None or encoding.batch_first or ids.ndim == 1 else padding.transpose(0, 1)
        # Where padding is not counted it is not encoded either; else it is enough to clear the sum.
        mask = in_rows if encoding.convention.numbering == "tokens" else None
        # First, since it refuses what cannot be used; it looks at the shape alone.
        rows = encoding.shared_rows(ids.unsqueeze(-1), positions=positions, offset=offset, padding_mask=mask)
        vectors: Tensor = self.embedding(ids)
        x: Tensor
        if rows.dtype == vectors.dtype:
            x = torch.add(rows, vectors, alpha=self.scale)
        else:
            wide = torch.promote_types(rows.dtype, vectors.dtype)
            x = narrowed(torch.add(rows.to(wide), vectors.to(wide), alpha=self.scale), vectors.dtype)
        if padding is not None:
            # Not left to the padding row of the weight: initialisers and checkpoints overwrite that.
            x = x.masked_fill_(padding.unsqueeze(-1), 0)
        return encoding.dropout(x) if encoding.dropout.training else x

    def _checked(self, ids: Any) -> Tensor:
        batch_first = self.encoding.batch_first
        wanted = "(..., S)" if batch_first else "(S,) or (S, B)"
        if not isinstance(ids, Tensor) or ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            kind = ids.dtype if isinstance(ids, Tensor) else type(ids).__name__
            refuse(f"ids of {kind}", f"a tensor of integers, {wanted}", "pass token ids", error=DtypeError)
        check_dense(ids, "ids")
        if ids.device != self.embedding.weight.device:
            layer = self.embedding.weight.device
            refuse(f"ids on {ids.device} and the layer on {layer}", "one device", "move one of them")
        if ids.ndim < 1 or (not batch_first and ids.ndim > 2):
            refuse(f"ids of shape {tuple(ids.shape)}", f"{wanted} with batch_first={batch_first}", "add an axis")
        known: Tensor = ids if ids.dtype in (torch.int64, torch.int32) else ids.long()
        if is_readable(known) and known.numel():
            low, high = (int(bound) for bound in torch.aminmax(known))
            if low < 0 or high >= self.num_embeddings:
                refuse(
                    f"ids from {low} to {high}",
                    f"ids from 0 to {self.num_embeddings - 1}",
                    "build the embedding with the size of the vocabulary",
                )
        return known

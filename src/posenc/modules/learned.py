"""The layer that adds a trained vector for each position to embeddings."""

from __future__ import annotations

import copy
from typing import Any, get_args

import torch
from torch import Tensor, nn

from ..arguments.devices import check_device
from ..convention import Convention, check_dim, resolve
from ..encoding.arguments import INT64_MAX, check_dtype, check_int, is_readable, uncast, with_float64
from ..encoding.values import single, table
from ..errors import DtypeError, refuse
from ..positions.arguments import check_choice
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
from .axes import Axes, as_read, axes_of
from .between import check_deviation
from .jagged import by_row, is_jagged
from .narrow import narrowed
from .resizing import Rule, resized, warn_of_map
from .weight import empty_table, fitted, sharded_like


class LearnedPositionalEmbedding(nn.Module):
    """Adds the trained vector of each position to embeddings, then dropout: x + weight[:x.size(1)].

    Input and output have one shape and dtype: (..., S, d_model) with `batch_first`, else (S, d_model) or
    (S, B, d_model). Where the dtype of the weight differs from that of x, the sum is formed in the wider one and
    rounded once.

    The table is the parameter `weight`, (position_offset + max_len, d_model): row position_offset + p belongs to
    position p. It loads GPT-2's wpe, BERT's position_embeddings (512 rows, no offset), and BART's and OPT's
    embed_positions with position_offset=2, under the key `weight`, in the shapes (L, d), (1, L, d) and (L, 1, d).

    A trained table knows nothing of positions beyond it, so those are refused; `PositionalEncoding` has no such end.

    Args:
        max_len: positions there are.
        d_model: width of the embeddings.
        dropout: probability, applied to the sum in training.
        init: "normal", with mean 0 and the standard deviation `std`; or the encoding that training begins with, a
            name in `posenc.conventions` or a `Convention` of one axis.
        std: of "normal"; 0.02 is that of GPT-2 and BERT. `torch.nn.Embedding` has 1.
        position_offset: rows before that of position 0. Positions from -position_offset on are taken.
        batch_first: layout of x.
        device, dtype: of the weight.

    Raises:
        PosencError: where an argument cannot be used, before anything is computed.

    Source: Gehring et al. 2017; Vaswani et al. 2017, section 3.5, where sinusoids did nearly as well.

    >>> layer = LearnedPositionalEmbedding(10, 4, dropout=0.0, init="transformer")
    >>> layer
    LearnedPositionalEmbedding(
      10, 4, init='transformer', batch_first=True, dtype=torch.float32
      (dropout): Dropout(p=0.0, inplace=False)
    )
    >>> layer(torch.zeros(1, 2, 4)).detach()
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    >>> layer(torch.zeros(1, 11, 4))
    Traceback (most recent call last):
    posenc.errors.InputError: got positions from 0 to 10, but wanted positions from 0 to 9, the rows of this table; \
build it with max_len=11, or take layer.resize(11, "draw"): x is read as (batch 1, sequence 11); \
if it is (sequence, batch, d_model), pass batch_first=False.
    """

    weight: nn.Parameter

    def __init__(
        self,
        max_len: int,
        d_model: int,
        dropout: float = 0.1,
        *,
        init: str | Convention = "normal",
        std: float = 0.02,
        position_offset: int = 0,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.max_len = check_int(max_len, "max_len", 1, INT64_MAX, "pass the number of positions")
        self.d_model = check_dim(d_model, "d_model")
        self.init = init if isinstance(init, str) and init == "normal" else resolve(init, "additive")
        if isinstance(self.init, Convention):
            single(self.init.plan(self.d_model))
        self.std = check_deviation(std, "std")
        fix = "BART and OPT have position_offset=2"
        self.position_offset = check_int(position_offset, "position_offset", 0, INT64_MAX - self.max_len, fix)
        self.batch_first = check_bool(batch_first, "batch_first")
        self.dropout = nn.Dropout(check_probability(dropout, "dropout"))
        dtype = check_dtype(dtype)
        device = None if device is None else check_device(device)
        with torch.inference_mode(False):
            self.weight = nn.Parameter(empty_table(self.position_offset + self.max_len, self.d_model, dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew, or compute it where `init` is a convention. Call it after `to_empty`."""
        with torch.no_grad():
            if not isinstance(self.init, Convention):
                self.weight.normal_(0, self.std)
            elif not self.weight.is_meta:
                rows, start = self.position_offset + self.max_len, -self.position_offset
                made = table(rows, self.d_model, self.init, start=start, dtype=self.weight.dtype, device="cpu")
                self.weight.copy_(sharded_like(made, self.weight))

    def extra_repr(self) -> str:
        """All that decides what comes out, but dropout, which shows itself."""
        said = f"{self.max_len}, {self.d_model}"
        said += f", init={self.init.label}" if isinstance(self.init, Convention) else f", init='normal', std={self.std}"
        if self.position_offset:
            said += f", position_offset={self.position_offset}"
        return said + f", batch_first={self.batch_first}, dtype={self.weight.dtype}"

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
            positions: (S,) or (B, S) in both layouts, integers; default 0, 1, ...
            offset: of the first token, an int or one for each row (B,); added to `positions`.
            padding_mask: (B, S) bool, True where there is padding: those tokens get nothing added, and their rows
                no gradient. They are counted all the same: for left-padded text pass `positions`.

        Raises:
            PosencError: where an argument cannot be used, before anything is computed. On an accelerator and inside
                a compiled or exported graph no value of a tensor is looked at: a position beyond the table is then
                torch's own error, of the embedding.
        """
        if others:
            refuse_misplaced(others, "x", "positions, offset and padding_mask")
        if is_jagged(x):
            return by_row(self.forward, x, positions=positions, offset=offset, padding_mask=padding_mask)
        check_input(x, self.d_model, batch_first=self.batch_first)
        total = x + self.rows_for(x, positions=positions, offset=offset, padding_mask=padding_mask)
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
        """The rows that `forward` adds to x, of a shape that broadcasts against it, in the dtype of `weight`."""
        weight = self.weight
        axes = axes_of(x, batch_first=self.batch_first)
        length = axes.length
        if x.device != weight.device:
            refuse(f"x on {x.device} and the layer on {weight.device}", "one device", "move one of them")
        offset = check_offset(offset, axes)
        if isinstance(positions, Tensor) and positions.is_floating_point():
            refuse(
                f"positions of {positions.dtype}",
                "integers: a trained table has no row between two others",
                f"{uncast('positions')}, or use PositionalEncoding",
                error=DtypeError,
            )
        if positions is not None:
            positions = check_positions(positions, axes)
        if padding_mask is not None:
            padding_mask = check_mask(padding_mask, axes)
        if positions is None and not isinstance(offset, Tensor):
            rows = self._range(offset, axes)
        else:
            if positions is None:
                positions = with_float64(torch.arange(length, dtype=torch.int64, device=x.device))
            rows = self._chosen(sum_of(positions, offset).to(x.device), axes)
        if padding_mask is not None:
            rows = rows.masked_fill(padding_mask.unsqueeze(-1), 0)
        if self.batch_first or x.ndim == 2:
            return rows
        return rows.unsqueeze(1) if rows.ndim == 2 else rows.transpose(0, 1)

    def _range(self, offset: int, axes: Axes) -> Tensor:
        """Rows (length, d_model) of offset, offset + 1, ..."""
        length = axes.length
        if torch.compiler.is_exporting():
            # No bound on the length may enter the program; the embedding itself refuses what is beyond.
            positions = torch.arange(length, dtype=torch.int64, device=self.weight.device)
            return nn.functional.embedding(positions + (offset + self.position_offset), self.weight)
        if length and not (-self.position_offset <= offset and offset + length <= self.max_len):
            self._refuse(offset, offset + length - 1, axes)
        # A copy: `rows_for` hands it out, and to write to it must not change the table.
        return self.weight.narrow(0, offset + self.position_offset if length else 0, length).clone()

    def _chosen(self, positions: Tensor, axes: Axes) -> Tensor:
        """Rows (..., d_model) of given positions (...)."""
        if is_readable(positions) and positions.numel():
            low, high = (int(bound) for bound in torch.aminmax(positions))
            if low < -self.position_offset or high >= self.max_len:
                self._refuse(low, high, axes)
        return nn.functional.embedding(positions + self.position_offset, self.weight)

    def _refuse(self, low: int, high: int, axes: Axes) -> None:
        needed = high + 1
        fix = f'build it with max_len={needed}, or take layer.resize({needed}, "draw")'
        if (self.position_offset + needed) * self.d_model * self.weight.itemsize > INT64_MAX:
            # No tensor has so many bytes.
            fix = "pass smaller positions: no table has that many rows"
        refuse(
            f"positions from {low} to {high}",
            f"positions from {-self.position_offset} to {self.max_len - 1}, the rows of this table",
            f"{fix if high >= self.max_len else 'pass an offset that lifts them'}: {as_read(axes)}",
        )

    def resize(self, max_len: int, rule: Rule | None = None) -> LearnedPositionalEmbedding:
        """A copy of this layer for another number of positions; optimizers have to be told of its new weight.

        The rule is always to be said: "draw" keeps the first rows and initialises further ones as at the start;
        "repeat" begins again with row 0 after the last one (Beltagy et al. 2020, Longformer); "stretch-ends" puts
        the old table over the new length by linear interpolation, first row on first and last on last;
        "stretch-cells" likewise with the rows taken for centres of cells. The rows before position 0 stay. All need
        training at the new length: a table has seen only its own positions.

        All rules take the rows for places on one line. The table of an image is a map: of 14 x 14 cells, row 14 lies
        below row 0, not beside row 13. A table that looks like a map is warned of. Resample it over both axes, a row
        for the class left out:

        >>> cells = torch.arange(196.0).remainder(14).unsqueeze(1)  # each holds its column
        >>> image = cells.T.reshape(1, -1, 14, 14)
        >>> image = nn.functional.interpolate(image, (28, 28), mode="bicubic", antialias=True)
        >>> larger = image.flatten(2).squeeze(0).T
        >>> round(larger[27].item())  # the last cell of the first row; as a line it would be 6.4
        13

        >>> layer = LearnedPositionalEmbedding(2, 1, init=Convention(first=1.5707963267948966))
        >>> layer.resize(3, "stretch-ends").weight.detach().T
        tensor([[0.0000, 0.5000, 1.0000]])
        """
        max_len = check_int(max_len, "max_len", 1, INT64_MAX - self.position_offset, "pass the number of positions")
        if rule is None:
            wanted = " or ".join(map(repr, get_args(Rule)))
            refuse("no rule", wanted, f'pass one, as in resize({max_len}, "stretch-ends")')
        check_choice(rule, "rule", get_args(Rule))
        if "weight" not in dict(self.named_parameters(recurse=False)):
            refuse(
                "a layer whose weight is computed from other parameters",
                "the parameter 'weight'",
                'call torch.nn.utils.parametrize.remove_parametrizations(layer, "weight") first',
            )
        if max_len != self.max_len:
            warn_of_map(self.weight[self.position_offset :])
        made = copy.deepcopy(self)
        made.max_len = max_len
        with torch.inference_mode(False), torch.no_grad():
            rows = self.position_offset + max_len
            empty = empty_table(rows, self.d_model, self.weight.dtype, self.weight.device)
            made.weight = nn.Parameter(empty, requires_grad=self.weight.requires_grad)
            if rule == "draw" and max_len > self.max_len:
                made.reset_parameters()
            first = self.position_offset
            made.weight[:first] = self.weight[:first]
            kept = resized(self.weight[first:], max_len, rule)
            made.weight[first : first + len(kept)] = kept
        return made

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
        fault = fitted(state_dict, prefix + "weight", self.weight, self.position_offset, self.max_len)
        error_msgs += [fault] if fault else []
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

"""The encoder block of the paper, of torch's own parts, with a slot for every encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..arguments.devices import check_device
from ..arguments.memory import made
from ..arguments.tensors import check_dense
from ..convention import check_dim
from ..encoding.arguments import check_dtype, check_int
from ..errors import DtypeError, refuse
from ..modules import AlibiBias, RelativePositionBias
from ..modules.arguments import (
    check_bool,
    check_input,
    check_mask,
    check_positions,
    check_probability,
    refuse_misplaced,
)
from ..modules.axes import axes_of
from ..modules.rotary import RotaryEmbedding

Norm = Literal["after", "before"]
Attend = Literal["all", "causal"]
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": functional.relu, "gelu": functional.gelu}


class EncoderBlock(nn.Module):
    """Multi-head attention and a feed-forward network, each with a residual sum and a layer norm.

    x is (..., S, d_model) with `batch_first`, else (S, d_model) or (S, B, d_model); shape and dtype stay.
    An encoding that is added, `PositionalEncoding` or `LearnedPositionalEmbedding`, comes in front of the first
    block, as in `SequenceEmbedding`; one that turns queries and keys goes into `rotary`, one that is added to the
    scores into `bias`. Law: with neither, and given its weights by `load_state_dict`, it is
    `torch.nn.TransformerEncoderLayer`, to rounding; the names of all parameters are those of that layer.

    Args:
        d_model: width of the embeddings, a multiple of `num_heads`.
        num_heads: heads of the attention.
        dim_feedforward: width inside the feed-forward network.
        dropout: probability, in training: of attention weights, inside the feed-forward network, of both sums.
        activation: "relu", as in the paper, or "gelu".
        norm: "after" each sum, as in the paper, or "before" attention and feed-forward.
        rotary: a `RotaryEmbedding` of width d_model / num_heads; it turns queries and keys, never values.
        bias: an `AlibiBias` or a `RelativePositionBias` of num_heads heads.
        batch_first: layout of x. `torch.nn.TransformerEncoderLayer` itself has False as its default.
        device, dtype: of the parameters.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 for the norm before.

    >>> block = EncoderBlock(8, 2, dropout=0.0)
    >>> block(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        *,
        activation: Literal["relu", "gelu"] = "relu",
        norm: Norm = "after",
        rotary: RotaryEmbedding | None = None,
        bias: AlibiBias | RelativePositionBias | None = None,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.d_model = check_dim(d_model, "d_model")
        self.num_heads = check_int(num_heads, "num_heads", 1, self.d_model, "pass the number of heads")
        if self.d_model % self.num_heads:
            refuse(f"d_model={d_model} with num_heads={num_heads}", "a multiple of num_heads", "pass other numbers")
        _check_choice("activation", activation, tuple(_ACTIVATIONS))
        _check_choice("norm", norm, get_args(Norm))
        self.batch_first = check_bool(batch_first, "batch_first")
        self.activation, self.norm = activation, norm
        self._check_slots(rotary, bias)
        place, dtype = None if device is None else check_device(device), check_dtype(dtype)
        p, hidden = check_probability(dropout, "dropout"), check_dim(dim_feedforward, "dim_feedforward")
        options: dict[str, Any] = {"device": place, "dtype": dtype}
        whole = (max(3 * self.d_model, hidden), self.d_model)
        made(lambda: self._make(p, hidden, options), whole, dtype, place, "a weight", "pass a smaller width")
        self.rotary, self.bias = rotary, bias

    def _make(self, p: float, hidden: int, options: dict[str, Any]) -> None:
        # Holds the four projections, under the names that checkpoints have; its own forward is not used.
        self.self_attn = nn.MultiheadAttention(self.d_model, self.num_heads, dropout=p, batch_first=True, **options)
        self.linear1 = nn.Linear(self.d_model, hidden, **options)
        self.dropout = nn.Dropout(p)
        self.linear2 = nn.Linear(self.linear1.out_features, self.d_model, **options)
        self.norm1, self.norm2 = nn.LayerNorm(self.d_model, **options), nn.LayerNorm(self.d_model, **options)
        self.dropout1, self.dropout2 = nn.Dropout(p), nn.Dropout(p)

    def _check_slots(self, rotary: Any, bias: Any) -> None:
        width = self.d_model // self.num_heads
        if rotary is not None and not isinstance(rotary, RotaryEmbedding):
            fix = "an encoding that is added comes in front of the block"
            refuse(f"rotary of type {type(rotary).__name__}", "a RotaryEmbedding or None", fix, error=DtypeError)
        if rotary is not None and (rotary.dim != width or rotary.seq_dim != -2):
            said = f"a rotary embedding of dim {rotary.dim} and seq_dim {rotary.seq_dim}"
            refuse(said, f"dim {width} and seq_dim -2", f"pass RotaryEmbedding({width})")
        if bias is not None and not isinstance(bias, (AlibiBias, RelativePositionBias)):
            kinds = "an AlibiBias, a RelativePositionBias or None"
            refuse(f"bias of type {type(bias).__name__}", kinds, "masks go into forward", error=DtypeError)
        if bias is not None and bias.num_heads != self.num_heads:
            refuse(
                f"a bias of {bias.num_heads} heads", f"{self.num_heads} heads", "build it with num_heads of the block"
            )

    def forward(
        self,
        x: Tensor,
        *others: Any,
        positions: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attend: Attend = "all",
    ) -> Tensor:
        """Hidden states -> hidden states of the same shape and dtype.

        Args:
            x: as in the class.
            positions: (S,) or (B, S), for `rotary` and `bias`; default 0, 1, ...
            padding_mask: (B, S) bool, True where there is padding: nobody attends to those tokens.
            attend: to "all" tokens, or "causal": to those before and the token itself.
        """
        if others:
            refuse_misplaced(others, "x", "positions, padding_mask and attend")
        if isinstance(x, Tensor):
            # Rows that are padded and not masked would be attended to.
            check_dense(x, "x", " and a padding_mask that is True behind the end of each row")
        check_input(x, self.d_model, batch_first=self.batch_first)
        _check_choice("attend", attend, get_args(Attend))
        device = self.linear1.weight.device
        if x.device != device:
            refuse(f"x on {x.device} and the block on {device}", "one device", "move one of them")
        own = self.norm1.weight.dtype
        if x.dtype != own and not torch.is_autocast_enabled(x.device.type):
            fix = "cast one of them, or call it under torch.autocast"
            refuse(f"x of {x.dtype} and a block of {own}", "one dtype", fix, error=DtypeError)
        if positions is not None and self.rotary is None and self.bias is None:
            refuse(
                "positions for a block without rotary and bias",
                "an encoding that takes them here",
                "pass them to the one in front of the block",
            )
        axes = axes_of(x, batch_first=self.batch_first)
        turned = x if self.batch_first or x.ndim == 2 else x.transpose(0, 1)
        if positions is not None:
            positions = check_positions(positions, axes)
        if padding_mask is not None:
            padding_mask = check_mask(padding_mask, axes)
        mask = self._mask(turned, positions, padding_mask, attend)
        if self.norm == "before":
            turned = turned + self.dropout1(self._attention(self.norm1(turned), positions, mask))
            turned = turned + self.dropout2(self._feedforward(self.norm2(turned)))
        else:
            turned = self.norm1(turned + self.dropout1(self._attention(turned, positions, mask)))
            turned = self.norm2(turned + self.dropout2(self._feedforward(turned)))
        out: Tensor = turned
        return out if self.batch_first or x.ndim == 2 else out.transpose(0, 1)

    def _feedforward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.linear2(self.dropout(_ACTIVATIONS[self.activation](self.linear1(x))))
        return hidden

    def _attention(self, x: Tensor, positions: Tensor | None, mask: Tensor | None) -> Tensor:
        attn = self.self_attn
        projected = functional.linear(x, attn.in_proj_weight, attn.in_proj_bias)
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for part in projected.chunk(3, -1))
        # Values are not turned: only scores need to know of order.
        q, k = self._turned(q, k, positions)
        p = attn.dropout if self.training else 0.0
        heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p).transpose(-3, -2)
        if torch.compiler.is_exporting():
            # Exporters take attention apart, and its result then lies otherwise in memory than it does now.
            heads = heads.clone(memory_format=torch.contiguous_format)
        out: Tensor = attn.out_proj(heads.flatten(-2))
        return out

    def _turned(self, q: Tensor, k: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        rotary, length = self.rotary, q.shape[-2]
        if rotary is None or positions is None or positions.ndim < 3:
            return (q, k) if rotary is None else rotary(q, k, positions=positions, length=length)
        # Rotary embeddings know one axis of rows, so several are made one.
        rows, places = (part.flatten(0, -4) for part in (q, k)), positions.flatten(0, -2)
        turned_q, turned_k = rotary(*rows, positions=places, length=length)
        return turned_q.reshape(q.shape), turned_k.reshape(k.shape)

    def _mask(self, x: Tensor, positions: Tensor | None, padding_mask: Tensor | None, attend: Attend) -> Tensor | None:
        """What is added to the scores (..., heads, S, S), or None."""
        length = x.shape[-2]
        mask: Tensor | None = None
        if self.bias is not None:
            mask = self.bias(length, length, query_positions=positions, key_positions=positions).to(x.dtype)
            if mask.device != x.device:
                mask = mask.to(x.device)
            if x.ndim == 2 and mask.ndim == 4:
                # One sequence: without the batch of one that T5 gives its bias.
                mask = mask.squeeze(0)
        hidden: Tensor | None = None
        if attend == "causal":
            hidden = made(
                lambda: torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1),
                (length, length),
                torch.bool,
                x.device,
                "a causal mask",
                "pass shorter sequences",
            )
        if padding_mask is not None:
            padding = padding_mask[..., None, None, :]
            hidden = padding if hidden is None else hidden | padding
        if hidden is None:
            return mask
        if mask is None:
            return ~hidden
        return mask.masked_fill(hidden, float("-inf"))

    def extra_repr(self) -> str:
        """What the parts do not say themselves."""
        said = f"num_heads={self.num_heads}, norm={self.norm!r}, activation={self.activation!r}"
        return f"{said}, batch_first={self.batch_first}"


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        refuse(f"{name}={value!r}", " or ".join(map(repr, choices)), "choose one of these")

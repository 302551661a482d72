"""A small encoder that answers yes or no, of torch's own parts, with a slot for an encoding."""

from __future__ import annotations

from torch import Tensor, nn


class Classifier(nn.Module):
    """Token ids (B, S), 0 being padding -> one logit a sequence, (B,).

    Embedding, then `encoding` where there is one, then `layers` of `nn.TransformerEncoderLayer`,
    then the mean over the real tokens, and a linear layer.
    The mean is blind to order, so whatever the model knows of order comes through `encoding`.

    Args:
        num_embeddings: size of the vocabulary, padding included.
        encoding: a module (B, S, dim) -> (B, S, dim) that tells the positions, or None.
        dim: width of the vectors; a multiple of `heads`.
        feedforward: width inside each layer.

    >>> import torch
    >>> model = Classifier(num_embeddings=5)
    >>> model(torch.tensor([[1, 2, 3], [4, 2, 0]])).shape
    torch.Size([2])
    >>> sum(parameter.numel() for parameter in model.parameters())
    4281
    """

    def __init__(
        self,
        num_embeddings: int,
        encoding: nn.Module | None = None,
        *,
        dim: int = 24,
        heads: int = 4,
        feedforward: int = 32,
        layers: int = 1,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(num_embeddings, dim, padding_idx=0)
        self.encoding = encoding
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, feedforward, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim)
        self.answer = nn.Linear(dim, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Token ids (B, S) -> logits (B,); every sequence needs a token that is not padding."""
        padding = tokens == 0
        x = self.embedding(tokens)
        if self.encoding is not None:
            x = self.encoding(x)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        real = (~padding).unsqueeze(-1).to(x.dtype)
        pooled = (self.norm(x) * real).sum(dim=1) / real.sum(dim=1)
        logit: Tensor = self.answer(pooled).squeeze(-1)
        return logit


def parameter_count(model: nn.Module) -> int:
    """How many numbers of the model are trained."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)

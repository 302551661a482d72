"""Rotary embeddings against those of other libraries: eager, compiled, and one token at a time, with the errors."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import torch
from _measure import REPEATS, Times, alternate, at_most, duration, show, show_machine, version_of
from torch import Tensor, nn

import posenc

BATCH, HEADS, LENGTH, DIM = 4, 16, 2048, 128
TOKENS = 200
AT = 900
# Queries and keys, and the position of their first token.
Both = Callable[..., tuple[Tensor, Tensor]]
# What a model may have ready before its first layer, and ours beside it.
READY = {"transformers, positions ready": "posenc, positions ready", "transformers, cosines ready": "posenc"}
HEADER = ["", "q and k", "ratio", "bar", "", "largest error"]


class Llama(nn.Module):
    """transformers' Llama: cosines and sines of the positions, then the turn."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import LlamaConfig
        from transformers.models.llama import modeling_llama

        config = LlamaConfig(head_dim=DIM, hidden_size=HEADS * DIM, num_attention_heads=HEADS)
        self.rotary = modeling_llama.LlamaRotaryEmbedding(config)
        self.apply_turn = modeling_llama.apply_rotary_pos_emb

    def forward(self, q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        """q and k (B, heads, S, dim) -> the same, turned."""
        positions = torch.arange(offset, offset + q.shape[2]).unsqueeze(0).expand(q.shape[0], -1)
        return self.apply_turn(q, k, *self.rotary(q, positions))


def _rotary_embedding_torch() -> Both:
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=DIM)

    def both(q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        return rotary.rotate_queries_or_keys(q, offset=offset), rotary.rotate_queries_or_keys(k, offset=offset)

    return both


def _x_transformers() -> Both:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    rotary = RotaryEmbedding(DIM)

    def both(q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        angles, scale = rotary(torch.arange(offset, offset + q.shape[2]))
        return apply_rotary_pos_emb(q, angles, scale), apply_rotary_pos_emb(k, angles, scale)

    return both


def _torchtune() -> Both:
    # The package imports much that rotary embeddings do not need: their file alone.
    file = importlib.metadata.distribution("torchtune").locate_file("torchtune/modules/position_embeddings.py")
    spec = importlib.util.spec_from_file_location("torchtune_position_embeddings", str(file))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rotary = module.RotaryPositionalEmbeddings(DIM, max_seq_len=LENGTH)

    def both(q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        positions = torch.arange(offset, offset + q.shape[2]).unsqueeze(0) if offset else None
        # It takes (B, S, heads, dim); as views, so that all are given the same.
        a, b = (rotary(x.transpose(1, 2), input_pos=positions).transpose(1, 2) for x in (q, k))
        return a, b

    return both


# Package: how it is called, and the layout of its pairs.
PEERS: dict[str, tuple[Callable[[], Both], str]] = {
    "transformers": (Llama, "halves"),
    "rotary-embedding-torch": (_rotary_embedding_torch, "interleaved"),
    "torchtune": (_torchtune, "interleaved"),
    "x-transformers": (_x_transformers, "interleaved"),
}


def candidates() -> dict[str, tuple[Both, str]]:
    """All that is installed, ours first, each with its layout."""
    found: dict[str, tuple[Both, str]] = {
        "posenc": (posenc.RotaryEmbedding(DIM), "halves"),
        "posenc, interleaved": (posenc.RotaryEmbedding(DIM, layout="interleaved"), "interleaved"),
    }
    for package, (build, layout) in PEERS.items():
        if version_of(package):
            found[f"{package} {version_of(package)}"] = build(), layout
    return found


def error_of(made: Tensor, x: Tensor, layout: str, offset: int = 0) -> float:
    """The largest error of turned queries, against float64."""
    worst = 0.0
    rule = posenc.Convention(layout=layout)
    for row, turned in zip(x, made, strict=True):
        exact = posenc.rotate(row.double(), range(offset, offset + x.shape[2]), rule)
        worst = max(worst, (turned.double() - exact).abs().max().item())
    return worst


def rows_of(times: dict[str, Times], errors: dict[str, float], bar: float) -> list[list[str]]:
    """A line for each candidate: its time, ours of its kind in parts of that, the bar, and its error.

    The bar is that of transformers; against the other libraries it is 1.
    """
    rows = []
    for name, taken in times.items():
        verdict = ("", "", "")
        if name in READY:
            verdict = at_most(bar, times[READY[name]], taken, noise="aside")
        elif name.startswith("transformers"):
            verdict = at_most(bar, times["posenc"], taken, noise="aside" if bar == 1 else "counts")
        elif not name.startswith(("posenc", "a copy")):
            verdict = at_most(1, times["posenc, interleaved"], taken, noise="aside")
        rows.append([name, duration(taken.median), *verdict, f"{errors[name]:.1e}" if name in errors else ""])
    return rows


def whole(dtype: torch.dtype, *, compiled: bool) -> None:
    """Whole sequences, each candidate as it is or under torch.compile."""
    q, k = (torch.randn(BATCH, HEADS, LENGTH, DIM).to(dtype) for _ in range(2))
    runs: dict[str, Callable[[], Any]] = {"a copy": lambda: (q.clone(), k.clone())}
    errors = {}
    for name, (both, layout) in candidates().items():
        run = torch.compile(both) if compiled else both
        errors[name] = error_of(run(q, k)[0], q, layout)
        runs[name] = lambda run=run: run(q, k)
    times = alternate(runs, warm=3)
    how = "compiled" if compiled else "eager"
    title = f"({BATCH}, {HEADS}, {LENGTH}, {DIM}), {dtype}, {how}, medians of {REPEATS}; ratio: ours to theirs"
    show(title, rows_of(times, errors, 1.0 if compiled else 0.6), HEADER)


def token(dtype: torch.dtype) -> None:
    """One token of a decoder."""
    q, k = (torch.randn(1, HEADS, 1, DIM).to(dtype) for _ in range(2))
    runs: dict[str, Callable[[], Any]] = {}
    errors = {}
    for name, (both, layout) in candidates().items():
        errors[name] = error_of(both(q, k, offset=AT)[0], q, layout, AT)
        runs[name] = lambda both=both: both(q, k, offset=AT)
    rotary, position = posenc.RotaryEmbedding(DIM), torch.tensor([[AT]])
    runs["posenc, positions ready"] = lambda: rotary(q, k, positions=position)
    if version_of("transformers"):
        llama = Llama()
        shared = llama.rotary(q, position)
        runs["transformers, positions ready"] = lambda: llama.apply_turn(q, k, *llama.rotary(q, position))
        runs["transformers, cosines ready"] = lambda: llama.apply_turn(q, k, *shared)
    times = alternate(runs, calls=TOKENS, repeats=21)
    show(f"one token at position {AT}, (1, {HEADS}, 1, {DIM}), {dtype}", rows_of(times, errors, 1.0), HEADER)


def main() -> None:
    """Measure and print; a bar that is not met is said, and is no failure."""
    show_machine()
    for package in PEERS:
        if not version_of(package):
            print(f"{package} is not installed")
    with torch.no_grad():
        for dtype in (torch.float32, torch.bfloat16):
            whole(dtype, compiled=False)
            token(dtype)
        for dtype in (torch.float32, torch.bfloat16):
            whole(dtype, compiled=True)


if __name__ == "__main__":
    main()

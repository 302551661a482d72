"""The rest of the family against its peers: times, biases, maps, rotary gradients, tokens beyond the table.

With --beside all of it is measured once more beside one busy process.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from _measure import alternate, at_most, row, show, show_machine, version_of
from _textbook import mae_grid, timesteps
from torch import Tensor, nn

import posenc
from posenc.trig.rows import ROWS

REPEATS = 21
# What a peer may take less, with as many threads and one core gone.
BESIDE = 1.5
BUSY = "while True: pass"


@dataclass(frozen=True)
class Case:
    """What is compared, how often each round calls it, and the bar."""

    name: str
    ours: Callable[[], Any]
    other: Callable[[], Any]
    bar: float
    calls: int = 1


def times() -> list[Case]:
    """Times of a diffusion as floats, to the width of Stable Diffusion."""
    name, peer = timesteps()
    embed = posenc.TimestepEmbedding(320, "stable-diffusion-timestep")
    cases = []
    for count, bar in ((1, 5.0), (16, 4.0), (256, 3.0)):
        t = torch.rand(count) * 999
        if (embed(t) - peer(t, 320)).abs().max() > 1e-3:
            raise SystemExit("the embeddings of times differ")
        cases.append(Case(f"{count} times; {name}", _of(embed, t), _of(peer, t, 320), bar, 2000 // (count + 9)))
    return cases


def _of(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: function(*arguments)


def maps() -> list[Case]:
    """Maps of patches, as a model makes them once, and again."""
    cases = []
    for size in (14, 64):
        exact = posenc.grid((size, size), 768, "mae-2d", dtype=torch.float64)
        if (exact.flatten(0, 1) - torch.from_numpy(mae_grid(768, size))).abs().max() > 1e-12:
            raise SystemExit("the maps differ")
        ours, peer = _of(posenc.grid, (size, size), 768, "mae-2d"), _mae(size)
        cases.append(Case(f"grid(({size}, {size}), 768); MAE's numpy", ours, peer, 1.0, 10 if size == 14 else 1))
        cases.append(Case("the same with nothing kept", _first(ours), peer, 1.0))
    return cases


def _mae(size: int) -> Callable[[], Tensor]:
    # As its model takes it.
    return lambda: torch.from_numpy(mae_grid(768, size)).float()


def _first(run: Callable[[], Any]) -> Callable[[], Any]:
    def forgetful() -> Any:
        ROWS.clear()
        return run()

    return forgetful


def biases() -> list[Case]:
    """Biases of attention, for one new token and for whole sequences."""
    if not version_of("transformers"):
        print("transformers is not installed")
        return []
    from transformers import T5Config
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
    from transformers.models.t5.modeling_t5 import T5Attention

    alibi, keys = posenc.AlibiBias(16), posenc.AlibiBias(16, form="keys")
    mask = torch.ones(1, 2048, dtype=torch.int64)
    if not torch.allclose(alibi(1, 2048), build_mpt_alibi_tensor(16, 2048)):
        raise SystemExit("the biases differ")
    ours, theirs = (
        posenc.RelativePositionBias(16),
        T5Attention(T5Config(num_heads=16), has_relative_attention_bias=True),
    )
    theirs.relative_attention_bias.weight = ours.weight
    if not torch.equal(ours(512, 512), theirs.compute_bias(512, 512)):
        raise SystemExit("the biases differ")
    return [
        Case("AlibiBias(16)(1, 2048); MPT's", _of(alibi, 1, 2048), _of(build_mpt_alibi_tensor, 16, 2048), 1.0, 200),
        Case(
            "the same by keys; Bloom's",
            _of(keys, 1, 2048),
            _of(build_alibi_tensor, mask, 16, torch.float32),
            1.0,
            200,
        ),
        Case("RelativePositionBias(16)(512, 512); T5's", _of(ours, 512, 512), _of(theirs.compute_bias, 512, 512), 1.0),
    ]


def parts() -> list[Case]:
    """The front of an encoder, its block, and one token beyond the table."""
    front, ids = posenc.SequenceEmbedding(30_000, 512).eval(), torch.randint(0, 30_000, (8, 512))
    vectors, pe = front.embedding, front.encoding.pe
    block, layer = posenc.EncoderBlock(512, 8).eval(), nn.TransformerEncoderLayer(512, 8, batch_first=True).eval()
    layer.load_state_dict(block.state_dict())
    x, token = torch.randn(4, 128, 512), torch.randn(1, 1, 512)
    encoding = posenc.PositionalEncoding(512, max_len=1024).eval()
    step = Walk(encoding, token)
    return [
        Case(
            "SequenceEmbedding, (8, 512); sqrt(d) * vectors + table",
            _of(front, ids),
            lambda: vectors(ids) * math.sqrt(512) + pe[:, :512],
            1.0,
        ),
        Case("EncoderBlock, (4, 128, 512); torch's layer", _of(block, x), _of(layer, x), 1.0),
        Case("one token beyond max_len; one inside", step, lambda: encoding(token, offset=900), 3.0, 1000),
    ]


class Walk:
    """A decoder beyond the table: each call is the next token."""

    def __init__(self, encoding: nn.Module, token: Tensor) -> None:
        self.encoding, self.token, self.at = encoding, token, 9_000_000

    def __call__(self) -> Tensor:
        """The token with its encoding."""
        self.at += 1
        made: Tensor = self.encoding(self.token, offset=self.at)
        return made


def gradients() -> list[Case]:
    """Rotary, forward and backward."""
    if not version_of("transformers"):
        return []
    from rotary import Llama

    cases = []
    for dtype in (torch.float32, torch.bfloat16):
        q, k = (torch.randn(2, 16, 1024, 128).to(dtype).requires_grad_() for _ in range(2))
        grads = torch.randn_like(q), torch.randn_like(k)
        name = f"rotary forward and backward, (2, 16, 1024, 128), {dtype}; transformers' Llama"
        ours, theirs = (
            {"both": model, "q": q, "k": k, "grads": grads} for model in (posenc.RotaryEmbedding(128), Llama())
        )
        cases.append(Case(name, _Step(**ours), _Step(**theirs), 0.7))
    return cases


class _Step:
    """One step of training through a rotary embedding."""

    def __init__(self, both: Callable[..., Any], q: Tensor, k: Tensor, grads: tuple[Tensor, Tensor]) -> None:
        self.both, self.leaves, self.grads = both, (q, k), grads

    def __call__(self) -> Any:
        """The gradients of q and k."""
        with torch.enable_grad():
            return torch.autograd.grad(self.both(*self.leaves), self.leaves, self.grads)


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """One process that takes a core, for as long as this lasts."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measured(cases: list[Case], *, beside: bool) -> list[list[str]]:
    """A line for each case; beside a busy process the bar is a ratio of its own where that is wider."""
    lines = []
    for case in cases:
        taken = alternate({"ours": case.ours, "other": case.other}, repeats=REPEATS, calls=case.calls)
        ours, other = taken["ours"], taken["other"]
        bar = max(BESIDE, case.bar) if beside else case.bar
        lines.append(row(case.name, ours, other, at_most(bar, ours, other)))
    return lines


def main() -> None:
    """Measure and print; a bar that is not met is said, and is no failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", action="store_true", help="measure again beside one busy process")
    parser.add_argument("--only", default="", help="cases whose names hold these words")
    given = parser.parse_args()
    show_machine()
    torch.manual_seed(0)
    with torch.no_grad():
        cases = [*times(), *maps(), *biases(), *parts(), *gradients()]
        cases = [case for case in cases if given.only in case.name]
        show(f"the family, medians of {REPEATS}", measured(cases, beside=False))
        if given.beside:
            with busy():
                show("the same beside one busy process", measured(cases, beside=True))


if __name__ == "__main__":
    main()

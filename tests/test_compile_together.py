"""Parts of ours beside each other in one compiled graph: twice, in pairs, all at once, in stacks, at second lengths."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

import posenc
from posenc import positions

DIM, HEADS = 12, 2


def added(layer):
    return layer


def biased(bias):
    """A bias on scores that are made of x (B, S, DIM)."""
    return lambda x: (x @ x.transpose(1, 2)).unsqueeze(1) + bias(x.shape[1], x.shape[1])


def rotated(rotary):
    def part(x):
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return torch.cat(rotary(heads, heads), -1)

    return part


def turned_alone(rotary):
    return lambda x: rotary.rotate(x.unsqueeze(1))


def mapped(name, **options):
    """A map of (S, 3) cells beside tokens."""
    return lambda x: x.mean((0, 1)) + posenc.grid((x.shape[1], 3), DIM, name, **options)


def of_tokens(make):
    """What depends on the number of tokens only, beside x."""
    return lambda x: x.sum() + make(x.shape[1])


def ids(x):
    return torch.arange(x.shape[1]).expand(x.shape[0], -1)


def sequences():
    layer = posenc.SequenceEmbedding(40, DIM, padding_idx=0).eval()
    return lambda x: layer(ids(x)) + x


def timesteps():
    layer = posenc.TimestepEmbedding(DIM)
    return lambda x: layer(x[0, :, 0] * 100)


def shifted():
    return lambda x: posenc.shift(x, 3)


# Floats and tuples that a compiler may leave open, and a rule.
OWN = posenc.Convention(axes=("row", "column"), base=777.0, position_offset=(3, 5), position_scale=0.37, trained_size=6)
PLAIN = posenc.Convention(base=777.0, position_offset=3, gain=0.3)
STRETCHED = posenc.conventions["torchtune-llama3"]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
# Every public part that runs in a graph, once; `locate` and `wavelengths` answer questions and do not.
PARTS = {
    "PositionalEncoding": lambda: added(posenc.PositionalEncoding(DIM, 0.0, max_len=8)),
    "PositionalEncoding x-transformers": lambda: added(
        posenc.PositionalEncoding(DIM, 0.0, max_len=4, convention="x-transformers")
    ),
    "SequenceEmbedding": sequences,
    "LearnedPositionalEmbedding": lambda: added(posenc.LearnedPositionalEmbedding(64, DIM).eval()),
    "RotaryEmbedding": lambda: rotated(posenc.RotaryEmbedding(DIM // HEADS)),
    "RotaryEmbedding yarn": lambda: rotated(posenc.RotaryEmbedding(DIM // HEADS, scaling=YARN)),
    "RotaryEmbedding by a stretched name": lambda: rotated(posenc.RotaryEmbedding(DIM // HEADS, "torchtune-llama3")),
    "RotaryEmbedding.rotate": lambda: turned_alone(posenc.RotaryEmbedding(DIM, scaling=YARN)),
    "AlibiBias": lambda: biased(posenc.AlibiBias(HEADS)),
    "AlibiBias keys": lambda: biased(posenc.AlibiBias(HEADS, form="keys", future="masked")),
    "RelativePositionBias": lambda: biased(posenc.RelativePositionBias(HEADS)),
    "TimestepEmbedding": timesteps,
    "EncoderBlock": lambda: added(posenc.EncoderBlock(DIM, HEADS, 16, dropout=0.0).eval()),
    "encode": lambda: of_tokens(lambda n: posenc.encode(torch.arange(n) * 2, DIM)),
    "encode standardised": lambda: of_tokens(lambda n: posenc.encode(torch.arange(n), DIM, "hf-patchtst-sincos")),
    "encode by an object": lambda: of_tokens(lambda n: posenc.encode(torch.arange(n), DIM, PLAIN)),
    "encode by a stretched object": lambda: of_tokens(lambda n: posenc.encode(torch.arange(n), DIM, STRETCHED)),
    "table": lambda: of_tokens(lambda n: posenc.table(n, DIM, "openai-whisper", start=5)),
    "grid": lambda: mapped("mae-2d"),
    "grid interleaved": lambda: mapped("detr-2d-normalized"),
    "grid trained": lambda: mapped("timm-sincos2d-rev0-il0", trained_sizes=5),
    "grid by an object": lambda: mapped(OWN),
    "grid of positions": lambda: of_tokens(lambda n: positions.grid_positions((n, 3)).sum()),
    "shift": shifted,
    "shift_matrix": lambda: lambda x: x @ posenc.shift_matrix(4, DIM, dtype=torch.float32),
    "similarity": lambda: of_tokens(lambda n: posenc.similarity(torch.arange(n), DIM)),
    "rotate": lambda: lambda x: posenc.rotate(x, torch.arange(x.shape[1])),
    "convert": lambda: lambda x: posenc.convert(x, "interleaved", "halves"),
    "positions_from_mask": lambda: lambda x: posenc.positions_from_mask(x[..., 0] > 0).to(x.dtype),
}
# Those that are objects of a class, with buffers or parameters.
KEEPING = [name for name in PARTS if name[0].isupper()]
LENGTHS = (5, 7, 6)


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def agree(call, *, backend="aot_eager", dynamic=None, lengths=LENGTHS):
    """Compiled whole, a call gives at every length what it gives in eager mode, with one graph more for a second one.

    Graphs are counted from the second length on: for a first one with open sizes Dynamo starts over for every float
    that it finds open too.
    """
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(call, backend=counter, fullgraph=True, dynamic=dynamic)
    torch.manual_seed(0)
    counts = []
    for length in lengths:
        x = torch.randn(2, length, DIM)
        torch.testing.assert_close(compiled(x), call(x))
        counts.append(counter.frame_count)
    assert counts[-1] - counts[0] <= (len(lengths) - 1 if dynamic is False else 1)


def twice(part):
    return lambda x: (part(x), part(x) * 2)


@pytest.mark.timeout(900)
def test_all_parts_in_one_graph_twice_beside_another_of_their_kind():
    """Of functions, which keep nothing, another one is the same one."""
    parts = [make() for make in PARTS.values()]
    others = [PARTS[name]() for name in KEEPING]

    agree(lambda x: ([twice(part)(x) for part in parts], [part(x) for part in others]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PARTS)
def test_a_part_twice_beside_another_of_its_kind(name):
    one, other = PARTS[name](), PARTS[name]()

    agree(lambda x: (one(x), one(x) * 2, other(x)))


# With open sizes Dynamo starts over for every float of every part, which takes minutes for all of them.
OPEN = [
    "AlibiBias",
    "grid",
    "grid by an object",
    "encode by an object",
    "shift",
    "RotaryEmbedding yarn",
    "RotaryEmbedding by a stretched name",
]


@pytest.mark.parametrize("name", OPEN)
def test_a_part_whose_sizes_are_open_from_the_first_call_on(name):
    agree(twice(PARTS[name]()), dynamic=True, lengths=LENGTHS[:2])


def test_the_bias_of_the_report_twice():
    """One bias added twice to scores ended in "source already in seen_sources"."""
    bias = posenc.AlibiBias(HEADS)
    call = torch.compile(lambda q: q + bias(9, 9) + bias(9, 9), backend="aot_eager", fullgraph=True)
    q = torch.zeros(HEADS, 9, 9)

    slopes = torch.tensor([2.0**-4, 2.0**-8])
    far = (torch.arange(9) - torch.arange(9).unsqueeze(1)).abs()
    assert torch.equal(call(q), -2 * slopes.view(-1, 1, 1) * far)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(PARTS, 2)))
def test_every_pair_of_parts(one, other):
    first, second = PARTS[one](), PARTS[other]()
    for dynamic in (None, True, False):
        torch._dynamo.reset()
        agree(lambda x: (first(x), second(x)), dynamic=dynamic, lengths=LENGTHS[:2])


@pytest.mark.exhaustive
@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_twice_however_sizes_are_taken(name, dynamic):
    agree(twice(PARTS[name]()), dynamic=dynamic)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PARTS)
def test_a_part_twice_under_inductor(name):
    agree(twice(PARTS[name]()), backend="inductor", lengths=LENGTHS[:2])


class Encoder(nn.Module):
    """Blocks of which the first half shares what encodes positions, and the others have a part of their own in each."""

    def __init__(self, kind, layers=6):
        super().__init__()
        make = {
            "alibi": lambda: {"bias": posenc.AlibiBias(HEADS)},
            "t5": lambda: {"bias": posenc.RelativePositionBias(HEADS)},
            "rotary": lambda: {"rotary": posenc.RotaryEmbedding(DIM // HEADS)},
        }[kind]
        shared = make()
        self.blocks = nn.ModuleList(
            posenc.EncoderBlock(DIM, HEADS, 16, dropout=0.0, **(shared if 2 * i < layers else make()))
            for i in range(layers)
        )
        self.encoding = posenc.PositionalEncoding(DIM, 0.0, max_len=64)

    def forward(self, x):
        x = self.encoding(x)
        for block in self.blocks:
            x = block(x)
        return x


class ViT(nn.Module):
    """Patches of an image of any size, with the encoding of their map."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, 4, 4)
        self.block = posenc.EncoderBlock(DIM, HEADS, 16, dropout=0.0)

    def forward(self, image):
        x = self.patches(image).movedim(1, -1)
        x = x + posenc.grid(x.shape[1:3], DIM)
        return self.block(x.flatten(1, 2))


@pytest.mark.parametrize("kind", ["alibi", "t5", "rotary"])
def test_an_encoder_of_six_layers(kind):
    agree(Encoder(kind).eval())


# Two of three layers share a part; the kernels of six are those of three.
@pytest.mark.slow
@pytest.mark.parametrize("layers", [3, pytest.param(6, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", ["alibi", "t5", "rotary"])
def test_an_encoder_under_inductor(kind, layers):
    agree(Encoder(kind, layers).eval(), backend="inductor")


def sees(model, backend):
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    torch.manual_seed(0)
    for height, width in ((12, 16), (20, 16), (24, 28)):
        image = torch.randn(1, 3, height, width)
        torch.testing.assert_close(compiled(image), model(image))
    # Height, then width, becomes open.
    assert counter.frame_count <= 3


def test_a_vision_transformer_at_three_sizes():
    sees(ViT().eval(), "aot_eager")


@pytest.mark.slow
def test_a_vision_transformer_at_three_sizes_under_inductor():
    sees(ViT().eval(), "inductor")


@pytest.mark.parametrize("name", ["mae-2d", "detr-2d-normalized", "sam2-2d", "timm-sincos2d-rev0-il0"])
def test_a_map_of_open_sizes_is_exported(name):
    class Map(nn.Module):
        def forward(self, x):
            return x + posenc.grid(x.shape[:2], DIM, name)

    height, width = torch.export.Dim("height", min=2, max=512), torch.export.Dim("width", min=2, max=512)
    program = torch.export.export(Map(), (torch.zeros(3, 4, DIM),), dynamic_shapes={"x": {0: height, 1: width}})

    for size in ((3, 4), (9, 2), (30, 31)):
        torch.testing.assert_close(program.module()(torch.zeros(*size, DIM)), posenc.grid(size, DIM, name))

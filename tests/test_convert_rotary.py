"""Projections of queries and keys, moved between the two layouts of rotary, against rotary written out."""

import pytest
import torch

from posenc import Convention, conventions, convert
from posenc.errors import ConventionError


def rotate_halves(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Llama's way: pair k is columns k and k + dim / 2."""
    a, b = x.chunk(2, -1)
    return x * torch.cat([cosine, cosine], -1) + torch.cat([-b, a], -1) * torch.cat([sine, sine], -1)


def rotate_neighbours(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """GPT-J's way: pair k is columns 2k and 2k + 1."""
    a, b = x[..., ::2], x[..., 1::2]
    turned = torch.stack([-b, a], -1).flatten(-2)
    return x * cosine.repeat_interleave(2, -1) + turned * sine.repeat_interleave(2, -1)


HIDDEN, LENGTH = 24, 11


def turned(x, weight, bias, heads, rotary_dim, rotate):
    """(heads, length, head_dim) after the projection and the turn of the first rotary_dim columns of each head."""
    projected = torch.nn.functional.linear(x, weight, bias).view(LENGTH, heads, -1).transpose(0, 1)
    angles = torch.arange(LENGTH, dtype=x.dtype).unsqueeze(-1) * 10000 ** -(
        torch.arange(rotary_dim // 2, dtype=x.dtype) / (rotary_dim // 2)
    )
    head, rest = projected[..., :rotary_dim], projected[..., rotary_dim:]
    return torch.cat([rotate(head, angles.cos(), angles.sin()), rest], -1)


@pytest.mark.parametrize(("query_heads", "key_heads"), [(1, 1), (4, 4), (6, 2), (4, 1)])
@pytest.mark.parametrize(("head_dim", "rotary_dim"), [(8, None), (8, 8), (10, 6), (7, 4)])
@pytest.mark.parametrize("directions", [("interleaved", "halves"), ("halves", "interleaved")])
def test_rotary_scores_are_the_same(query_heads, key_heads, head_dim, rotary_dim, directions):
    torch.manual_seed(0)
    ways = {"halves": rotate_halves, "interleaved": rotate_neighbours}
    x = torch.randn(LENGTH, HIDDEN, dtype=torch.float64)
    made, moved = [], []
    for heads in (query_heads, key_heads):
        weight = torch.randn(heads * head_dim, HIDDEN, dtype=torch.float64)
        bias = torch.randn(heads * head_dim, dtype=torch.float64)
        width = head_dim if rotary_dim is None else rotary_dim
        made.append(turned(x, weight, bias, heads, width, ways[directions[0]]))
        weight, bias = (
            convert(part, *directions, axis=0, heads=heads, rotary_dim=rotary_dim) for part in (weight, bias)
        )
        moved.append(turned(x, weight, bias, heads, width, ways[directions[1]]))
    group = query_heads // key_heads
    scores = [q @ k.repeat_interleave(group, 0).mT for q, k in (made, moved)]

    # Sums of HIDDEN + 1 and of head_dim products, in another order.
    tolerance = 2.0**-52 * (2 * HIDDEN + head_dim) * scores[0].abs().max().item() * 4
    torch.testing.assert_close(scores[1], scores[0], rtol=0, atol=tolerance)
    # The turn itself moves with the columns, to the rounding of the projection.
    back = convert(moved[0], *directions[::-1], rotary_dim=rotary_dim)
    torch.testing.assert_close(back, made[0], rtol=0, atol=2.0**-52 * 4 * HIDDEN * made[0].abs().max().item())


def test_rotary_scores_differ_without_the_conversion():
    torch.manual_seed(0)
    x, weight = torch.randn(LENGTH, HIDDEN), torch.randn(8, HIDDEN)
    halves, neighbours = (turned(x, weight, None, 1, 8, way)[0] for way in (rotate_halves, rotate_neighbours))

    assert (halves @ halves.T - neighbours @ neighbours.T).abs().max() > 1


def test_heads_are_moved_one_by_one():
    moved = convert(torch.arange(12), "interleaved", "halves", heads=2, rotary_dim=4)

    assert moved.tolist() == [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11]


def test_llama_as_the_script_of_transformers_permutes_it():
    heads, head_dim = 3, 8
    weight = torch.randn(heads * head_dim, 5)
    script = weight.view(heads, head_dim // 2, 2, 5).transpose(1, 2).reshape(heads * head_dim, 5)

    assert torch.equal(convert(weight, "interleaved", "halves", axis=0, heads=heads), script)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_a_head_may_speak_a_convention(head_dim):
    x = torch.randn(2 * head_dim, 3)

    assert torch.equal(
        convert(x, "transformer", "marian", axis=0, heads=2), convert(x, "interleaved", "halves", axis=0, heads=2)
    )


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("word", ["halves", "interleaved"])
def test_a_part_of_each_head_as_its_convention_says(heads, word):
    # GPT-NeoX turns a half of each head, by halves.
    x = torch.arange(heads * 8)
    there = convert(x, "gpt-neox-rotary", word, heads=heads)

    assert torch.equal(there, convert(x, "halves", word, heads=heads, rotary_dim=4))
    assert torch.equal(there, convert(x, "gpt-neox-rotary", word, heads=heads, rotary_dim=4))
    assert torch.equal(convert(there, word, "gpt-neox-rotary", heads=heads), x)
    four = Convention(layout=word, rotary_dim=4)
    assert torch.equal(convert(x, conventions["gpt-neox-rotary"], four, heads=heads), there)
    compiled = torch.compile(lambda x: convert(x, conventions["gpt-neox-rotary"], four, heads=heads), backend="eager")
    assert torch.equal(compiled(x), there)


@pytest.mark.parametrize(
    ("source", "target", "options", "said"),
    [
        ("gpt-neox-rotary", "interleaved", {"rotary_dim": 8}, "rotary_dim of 8 and source 'gpt-neox-rotary' of 4 col"),
        ("llama", "gpt-neox-rotary", {}, "source 'llama' of 8 and target 'gpt-neox-rotary' of 4 columns, heads of 8"),
        (Convention(rotary_dim=0.25), "gpt-neox-rotary", {}, "of 2 and target 'gpt-neox-rotary' of 4 columns"),
        ("gpt-neox-rotary", "interleaved", {"heads": 4}, "a rotary width of 1 from rotary_dim=0.5 for heads of 2"),
    ],
)
def test_parts_that_differ_are_refused(source, target, options, said):
    with pytest.raises(ConventionError, match=said):
        convert(torch.arange(8), source, target, **options)

"""The attention of the explorer: the same weights at every call, blind to order, and those that the page holds."""

import base64
import importlib.util
import json
import math
from pathlib import Path

import mpmath
import pytest
import torch

from posenc.errors import InputError
from posenc.explorer.attention import DIM, HEADS, attend, layer
from posenc.explorer.words import vector

ROOT = Path(__file__).parents[1]
DATA = ROOT / "web" / "src" / "data"
SENTENCE = "The dog bites the man, and the man bites back."
# A sum of 32 products of numbers below 8 in float64, and three such sums one after another.
ROUNDING = 3 * 32 * 8 * 2.0**-53


@pytest.fixture(scope="module")
def export():
    """The script that writes what the page takes from Python."""
    found = importlib.util.spec_from_file_location("export_web", ROOT / "scripts" / "export_web.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_layer_is_the_same_at_every_call_and_draws_nothing_from_the_caller():
    torch.manual_seed(7)
    first, drawn = layer(), torch.rand(3)
    torch.manual_seed(7)

    assert torch.equal(drawn, torch.rand(3))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), layer().parameters(), strict=True))


def by_hand(sentence: str, *, encoding: str) -> list[list[float]]:
    """Multi-head attention written out in plain Python, with the paper's encoding added where it is asked for."""
    held = {name: value.tolist() for name, value in layer().named_parameters()}
    width = DIM // HEADS
    x = [vector(word, DIM) for word in sentence.split()]
    if encoding == "sinusoidal":
        for position, row in enumerate(x):
            for i in range(0, DIM, 2):
                angle = position / 10000 ** (i / DIM)
                row[i] += math.sin(angle)
                row[i + 1] += math.cos(angle)

    def linear(weight, bias, row):
        return [sum(w * v for w, v in zip(line, row, strict=True)) + b for line, b in zip(weight, bias, strict=True)]

    qkv = [linear(held["in_proj_weight"], held["in_proj_bias"], row) for row in x]
    out = []
    for own in qkv:
        joined = []
        for head in range(0, DIM, width):
            query = own[head : head + width]
            keys = [row[DIM + head : DIM + head + width] for row in qkv]
            values = [row[2 * DIM + head : 2 * DIM + head + width] for row in qkv]
            scores = [sum(q * k for q, k in zip(query, key, strict=True)) / math.sqrt(width) for key in keys]
            raised = [math.exp(score - max(scores)) for score in scores]
            shares = [r / sum(raised) for r in raised]
            joined += [sum(s * value[j] for s, value in zip(shares, values, strict=True)) for j in range(width)]
        out.append(linear(held["out_proj.weight"], held["out_proj.bias"], joined))
    return out


@pytest.mark.parametrize("encoding", ["none", "sinusoidal"])
def test_it_is_the_attention_of_the_paper(encoding):
    expected = torch.tensor(by_hand("the dog bites the man", encoding=encoding), dtype=torch.float64)

    assert (attend("the dog bites the man", encoding) - expected).abs().max() < ROUNDING


def test_it_is_blind_to_order_without_encoding_and_not_with_it():
    swapped = "man the bites dog the back the man and bites"
    order = [4, 0, 2, 1, 3, 9, 6, 7, 5, 8]
    assert [SENTENCE.lower().replace(",", "").replace(".", "").split()[i] for i in order] == swapped.split()

    assert (attend(SENTENCE)[order] - attend(swapped)).abs().max() < ROUNDING
    assert (attend(SENTENCE, "sinusoidal")[order] - attend(swapped, "sinusoidal")).abs().max() > 0.01


def test_a_wider_dtype_changes_rounding_alone():
    assert (attend(SENTENCE, dtype=torch.float32) - attend(SENTENCE)).abs().max() < 1e-6


def test_an_empty_sentence_has_no_outputs():
    assert attend("").shape == attend(" ... ", "sinusoidal").shape == (0, DIM)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(InputError, match="a sentence of 501 words, but wanted at most 500"):
        attend("dog " * 501)
    with pytest.raises(InputError, match="encoding='rotary'"):
        attend("dog", "rotary")


# What the page holds


@pytest.mark.parametrize("name", ["attention.json", "golden.json"])
def test_the_files_of_the_page_are_those_that_the_script_writes(export, name):
    assert (DATA / name).read_text(encoding="utf-8") == export.files()[name], "run `make page`"


def test_the_exported_weights_are_those_of_the_layer():
    held = json.loads((DATA / "attention.json").read_text(encoding="utf-8"))
    read = {
        name: torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.float32)
        for name, text in held.items()
        if isinstance(text, str)
    }

    assert (held["dim"], held["heads"]) == (DIM, HEADS)
    assert torch.equal(read["in_proj_weight"].view(3 * DIM, DIM), layer().in_proj_weight)
    assert torch.equal(read["in_proj_bias"], layer().in_proj_bias)
    assert torch.equal(read["out_proj_weight"].view(DIM, DIM), layer().out_proj.weight)
    assert torch.equal(read["out_proj_bias"], layer().out_proj.bias)


def test_golden_values_are_those_of_the_formula():
    rows = json.loads((DATA / "golden.json").read_text(encoding="utf-8"))
    (far,) = (r for r in rows if (r["convention"], r["position"], r["dim"]) == ("fairseq", str(2**63 - 1), 16))
    with mpmath.workprec(300):
        # fairseq: two added to the position, sines first, and a ladder of 8 frequencies that takes its end in.
        angle = (2**63 - 1 + 2) * mpmath.mpf(10000) ** (-mpmath.mpf(3) / 7)
        sine, cosine = float(mpmath.sin(angle)), float(mpmath.cos(angle))

    assert (far["values"][3], far["values"][8 + 3]) == (sine, cosine)
    assert {type(r["position"]) for r in rows if abs(int(r["position"])) >= 2**31} == {str}

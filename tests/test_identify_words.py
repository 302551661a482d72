"""What an answer of `identify` says: which names are equal, which line builds the table, what is no encoding."""

from __future__ import annotations

import pytest
import torch

import posenc
from posenc import identify, table


def test_only_names_with_the_same_values_are_called_equal():
    best = identify(table(200, 64, "fairseq"))[0]

    rows = table(200, 64, "fairseq")
    assert "fairseq" in (best.name, *best.names)
    assert "tensor2tensor" in best.shifted
    assert all(torch.equal(table(200, 64, name), rows) for name in (best.name, *best.names))
    assert not any(torch.equal(table(200, 64, name), rows) for name in best.shifted)


def test_the_text_names_equals():
    assert "equally 'openai-whisper'" in str(identify(table(100, 64, "openai-whisper"))[0])


@pytest.mark.parametrize(("name", "start"), [("transformer", 7), ("marian", 40), ("fairseq", 5), ("transformer", 0)])
def test_the_line_builds_the_table_from_its_first_row(name, start):
    rows = table(93, 64, name, start=start)
    layer = eval(identify(rows)[0].line(), {"posenc": posenc})

    assert torch.equal(layer.pe[0, :93], rows)
    assert not any(layer.load_state_dict({"pe": rows}))


@pytest.mark.parametrize(("name", "start"), [("transformer", 7), ("tensor2tensor", 2), ("musicgen", 11)])
def test_the_load_error_gives_a_convention_that_loads(name, start):
    rows = table(93, 64, name, start=start)
    with pytest.raises(RuntimeError, match="pass convention=") as refused:
        posenc.PositionalEncoding(64).load_state_dict({"pe": rows})
    said = str(refused.value).split("pass convention=")[1].rstrip(".").split(": its rows")[0].split(" (equally")[0]

    layer = posenc.PositionalEncoding(64, convention=eval(said, {"posenc": posenc}))
    assert not any(layer.load_state_dict({"pe": rows}))


def waves(dtype, base=500, phase=0.0):
    position = torch.arange(200, dtype=dtype).unsqueeze(1)
    return torch.sin(position * torch.tensor([base ** (-i / 32) for i in range(32)], dtype=dtype) + phase)


@pytest.mark.parametrize("rows", [waves(torch.float64), waves(torch.float32), waves(torch.float64, 10000, 0.3)])
def test_sines_without_cosines_are_neither_learned_nor_padded(rows):
    best = identify(rows)[0]

    assert (best.kind, best.padding) == ("unknown", ())
    assert "wave of one frequency" in best.note


def test_waves_with_a_little_training_are_no_waves():
    assert "wave" not in identify(waves(torch.float32) + 1e-3 * torch.randn(200, 32))[0].note

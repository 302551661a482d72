"""Position entries of real state dicts load strictly under their convention, or are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from posenc import PositionalEncoding, table

FOLDER = Path(__file__).parent / "data" / "checkpoints"
# file, prefix, width, the conventions that it loads under.
LOADS = [
    ("marian", "encoder.embed_positions.", 16, ("marian", "pegasus", "hf-marian")),
    ("marian", "decoder.embed_positions.", 16, ("marian",)),
    ("whisper", "encoder.embed_positions.", 16, ("hf-whisper",)),
    ("m2m100", "encoder.embed_positions.", 16, ("m2m100", "xglm")),
    ("m2m100", "decoder.embed_positions.", 16, ("m2m100",)),
    ("positional-encodings", "penc.", 16, ("positional-encodings",)),
    ("positional-encodings-odd", "", 15, ("positional-encodings",)),
    ("annotated-transformer", "1.", 16, ("transformer", "annotated-transformer")),
    ("pytorch-word-language-model", "pos_encoder.", 16, ("transformer", "pytorch-word-language-model")),
    ("pytorch-word-language-model-bfloat16", "pos_encoder.", 16, ("transformer",)),
]


def entries(name: str, prefix: str) -> dict[str, torch.Tensor]:
    """The entries of one module, under the names that the module itself has for them."""
    every = load_file(FOLDER / f"{name}.safetensors")
    return {key.removeprefix(prefix): value for key, value in every.items() if key.startswith(prefix)}


@pytest.mark.parametrize(("name", "prefix", "width", "conventions"), LOADS)
def test_it_loads_strictly_and_the_layer_keeps_exact_values(name, prefix, width, conventions):
    for convention in conventions:
        layer = PositionalEncoding(width, max_len=30, convention=convention)
        result = layer.load_state_dict(entries(name, prefix))

        assert not result.missing_keys
        assert not result.unexpected_keys
        assert torch.equal(layer.pe[0], table(30, width, convention))


REFUSED = [
    ("marian", "encoder.embed_positions.", "weight", "transformer", r"pass convention='marian'"),
    ("whisper", "encoder.embed_positions.", "weight", "marian", r"pass convention='tensor2tensor' \(equally"),
    ("m2m100", "encoder.embed_positions.", "weights", "tensor2tensor", r"pass convention='fairseq'"),
    ("annotated-transformer", "1.", "pe", "marian", r"pass convention='transformer'"),
    ("annotated-transformer-in-bfloat16", "1.", "pe", "transformer", r"computed with .* in bfloat16"),
    ("whisper", "decoder.embed_positions.", "weight", "hf-whisper", r"no named convention explains it"),
]


@pytest.mark.parametrize(("name", "prefix", "key", "convention", "advice"), REFUSED)
def test_another_convention_is_refused_and_the_right_one_named(name, prefix, key, convention, advice):
    value = entries(name, prefix)[key]
    layer = PositionalEncoding(16, convention=convention)

    with pytest.raises(RuntimeError, match=advice):
        layer.load_state_dict({"pe": value})


def test_tables_that_differ_only_in_their_start_are_equal():
    rows = entries("m2m100", "encoder.embed_positions.")["weights"]

    # Row 2 of the system is position 0 of its convention: both beginnings load.
    for value in (rows, rows[2:]):
        assert not any(PositionalEncoding(16, convention="m2m100").load_state_dict({"pe": value}))

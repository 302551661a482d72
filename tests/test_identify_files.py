"""Tables in files: found by name or by content, and read no further than needed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import posenc
from posenc.errors import FileError
from posenc.identification.files import findings, is_positional


def textbook(length, dim):
    """The encoding as tutorials compute it, in float32."""
    position = torch.arange(length).unsqueeze(1)
    factors = torch.exp(torch.arange(0, dim, 2) * (-torch.log(torch.tensor(10000.0)) / dim))
    pe = torch.zeros(length, dim)
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * factors), torch.cos(position * factors)
    return pe


def kinds(found):
    return {finding.name: finding.matches[0].kind for finding in found}


def test_a_table_is_found_by_its_name_and_weights_are_left_alone(tmp_path):
    weights = {"encoder.pos_embed": textbook(50, 32), "head.weight": torch.randn(32, 32), "step": torch.tensor(3)}
    save_file(weights, tmp_path / "m.safetensors")

    (found,) = findings(tmp_path / "m.safetensors")

    assert (found.name, found.shape, found.dtype) == ("encoder.pos_embed", (50, 32), torch.float32)
    assert found.matches[0].name == "transformer"


def test_a_table_is_found_by_its_content(tmp_path):
    torch.save(
        {"anything": textbook(50, 32), "w": torch.randn(50, 32), "flat": torch.full((4, 8), 0.5)}, tmp_path / "m.pt"
    )

    assert kinds(findings(tmp_path / "m.pt")) == {"anything": "named"}


def test_a_ladder_is_found_by_its_name(tmp_path):
    ladder = torch.tensor([500000 ** (-k / 64) for k in range(64)])
    save_file({"layers.0.rotary.inv_freq": ladder, "bias": torch.randn(64)}, tmp_path / "m.safetensors")

    (found,) = findings(tmp_path / "m.safetensors")

    assert found.matches[0].is_ladder
    assert found.matches[0].convention.base == 500000


def test_a_key_and_every_tensor(tmp_path):
    save_file(
        {"a.weight": torch.randn(20, 16), "b.weight": torch.randn(20, 16), "n": torch.arange(9)},
        tmp_path / "m.safetensors",
    )

    assert kinds(findings(tmp_path / "m.safetensors")) == {}
    assert kinds(findings(tmp_path / "m.safetensors", key="a.")) == {"a.weight": "unknown"}
    assert kinds(findings(tmp_path / "m.safetensors", every=True)) == {"a.weight": "unknown", "b.weight": "unknown"}


def test_a_file_of_one_array_is_looked_at_whatever_its_name(tmp_path):
    np.save(tmp_path / "x.npy", textbook(40, 16).numpy())

    (found,) = findings(tmp_path / "x.npy")

    assert found.matches[0].name == "transformer"


def test_of_a_long_table_both_ends_are_read(tmp_path, monkeypatch):
    table = posenc.table(300_000, 16)
    save_file({"pe": table}, tmp_path / "m.safetensors")
    read = []
    kept = posenc.readers.Entry.rows

    def rows(self, start, stop):
        read.append(stop - start)
        return kept(self, start, stop)

    monkeypatch.setattr(posenc.readers.Entry, "rows", rows)
    (found,) = findings(tmp_path / "m.safetensors")

    assert (found.matches[0].name, found.matches[0].start) == ("transformer", 0)
    assert 0 < sum(read) < 10_000


def test_another_table_at_the_end_of_a_long_one_is_seen(tmp_path):
    table = posenc.table(300_000, 16)
    table[-1] = 0.3
    save_file({"pe": table}, tmp_path / "m.safetensors")

    (found,) = findings(tmp_path / "m.safetensors")

    assert found.matches[0].kind != "named"


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    (tmp_path / "m.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")

    with pytest.raises(FileError, match=r"m\.safetensors"):
        list(findings(tmp_path / "m.safetensors"))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("pos_embed", True),
        ("bert.embeddings.position_embeddings.weight", True),
        ("transformer.wpe.weight", True),
        ("encoder.pe", True),
        ("rotary.inv_freq", True),
        ("decoder.embed_positions._float_tensor", True),
        ("module.positional_embedding", True),
        ("encoder.linear_pos.weight", False),
        ("relative_position_bias_table", False),
        ("embeddings.position_ids", False),
        ("head.weight", False),
        ("open.weight", False),
    ],
)
def test_names_of_tables(name, is_one):
    assert is_positional(name) is is_one

"""Tables, vectors and files made to mislead `identify`: the answer is right, or nothing is claimed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import posenc
from posenc import Convention, identify, table
from posenc.errors import FileError
from posenc.identification.files import findings
from posenc.readers import entries

POSITIONS = torch.arange(200.0, dtype=torch.float64).unsqueeze(1)


def waves(frequencies, phases, layout="halves"):
    angle = POSITIONS * torch.tensor(frequencies, dtype=torch.float64) + torch.tensor(phases, dtype=torch.float64)
    parts = (angle.sin(), angle.cos())
    return torch.cat(parts, 1) if layout == "halves" else torch.stack(parts, -1).flatten(1)


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
def test_a_pair_that_stands_still_gives_no_position(layout):
    # No position has these phases: the first row is at 0 of the second pair, but not of the third.
    match = identify(waves([0, 1.3, 0.7, 2.2], [0, 0.3, 2, 1.1], layout))[0]

    assert (match.kind, match.start, match.convention) == ("unknown", None, None)


def test_a_pair_that_stands_still_may_be_part_of_a_convention():
    frequencies = [0, 1.3, 0.7, 2.2]
    match = identify(waves(frequencies, [9 * w for w in frequencies]))[0]

    assert (match.kind, match.start) == ("fitted", 9)
    assert match.error < 1e-12
    assert match.convention.frequencies == pytest.approx(frequencies, abs=1e-12)


SIZES = (1e308, -1e308, 1e200, 1e-200, 1e-308, 5e-324)
FORMS = {
    "table": table(50, 16, dtype=torch.float64),
    "random": torch.randn(30, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
    "constant": torch.ones(20, 8, dtype=torch.float64),
    "identity": torch.eye(16, dtype=torch.float64),
    "map": posenc.grid((4, 4), 16, dtype=torch.float64),
    "vector": 0.5 ** torch.arange(16, dtype=torch.float64),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_values_that_no_encoding_holds_are_not_identified(form, size):
    match = identify(FORMS[form] * size)[0]

    assert match.kind == "unknown"
    assert match.convention is None


@pytest.mark.parametrize("seed", range(4))
def test_every_number_of_an_answer_is_finite(seed):
    draw = torch.Generator().manual_seed(seed)
    for _ in range(60):
        pairs = int(torch.randint(1, 6, (), generator=draw))
        frequencies = torch.rand(pairs, generator=draw, dtype=torch.float64) * 10 ** float(
            torch.randint(-3, 1, (), generator=draw)
        )
        frequencies[torch.rand(pairs, generator=draw) < 0.4] = 0
        # A pair that stands still begins where its sine is zero.
        phases = torch.rand(pairs, generator=draw, dtype=torch.float64) * 6 * (frequencies > 0)
        for match in identify(waves(frequencies.tolist(), phases.tolist())):
            if match.convention is not None:
                assert math.isfinite(match.error)
                assert math.isfinite(match.relative_error)
                assert abs(match.start) < 2**33
                # What is off by half of its size is not explained.
                assert match.error < 0.5


@pytest.mark.parametrize("dim", [8, 64, 512])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_one_number_beside_zeros_shows_no_base(dim, place):
    chosen = torch.zeros(dim)
    chosen[place] = 1

    for vector in (chosen, 3 * chosen, chosen.unsqueeze(0), chosen.bfloat16()):
        assert {match.kind for match in identify(vector)} == {"unknown"}


def test_the_slopes_of_alibi_are_not_frequencies():
    for heads in (8, 16, 32, 64):
        match = identify(posenc.AlibiBias(heads).slopes)[0]
        assert (match.kind, match.line()) == ("unknown", "")
        assert f"the slopes of ALiBi for {heads} heads" in match.note


@pytest.mark.parametrize("base", [10000, 500000, 1e6])
def test_a_vector_of_frequencies_still_shows_its_base(base):
    match = identify(base ** -(torch.arange(0, 128, 2) / 128))[0]

    assert match.is_ladder
    assert match.convention.base == base


def vectors() -> dict[str, torch.Tensor]:
    return {
        "one_hot": torch.eye(16)[0],
        "slopes": posenc.AlibiBias(16).slopes.float(),
        "decay": 0.9 ** torch.arange(64.0),
        "gains": torch.linspace(2, 1, 64),
        "layers.0.rotor": 500000 ** -(torch.arange(64) / 64),
    }


def test_vectors_of_a_file_are_frequencies_by_their_name_alone(tmp_path):
    save_file({**vectors(), "rotary.inv_freq": 500000 ** -(torch.arange(64) / 64)}, tmp_path / "m.safetensors")

    (found,) = findings(tmp_path / "m.safetensors")
    assert (found.name, found.matches[0].convention.base) == ("rotary.inv_freq", 500000)
    every = {each.name: each.matches[0] for each in findings(tmp_path / "m.safetensors", every=True)}
    assert [name for name, match in every.items() if match.kind != "unknown"] == ["rotary.inv_freq"]
    assert "posenc.identify(tensor)" in every["layers.0.rotor"].note


def test_a_file_of_one_vector_is_named_by_its_file(tmp_path):
    ladder = 10000.0 ** -(np.arange(64) / 64)
    for name in ("decay", "inv_freq"):
        np.save(tmp_path / f"{name}.npy", ladder)
    (unnamed,), (named,) = (findings(tmp_path / f"{name}.npy") for name in ("decay", "inv_freq"))

    assert unnamed.matches[0].kind == "unknown"
    assert named.matches[0].is_ladder


# Keys whose hashes are all alike: Python takes an int modulo 2^61 - 1.
ALIKE = 2**61 - 1


@pytest.mark.parametrize("new", [True, False])
def test_keys_that_meet_in_one_place_are_refused_before_torch_reads_them(tmp_path, new):
    path = tmp_path / "keys.pt"
    # All but one of the values are numbers, so that the file is made of keys.
    torch.save(
        {(i + 1) * ALIKE: torch.zeros(1) if not i else 0 for i in range(4000)},
        path,
        _use_new_zipfile_serialization=new,
    )
    with pytest.raises(FileError, match="more than 1000 integers of more than 40 bits"):
        entries(path)


@pytest.mark.parametrize("new", [True, False])
def test_a_few_seeds_and_many_steps_are_read(tmp_path, new):
    path = tmp_path / "state.pt"
    state = {"pe": table(9, 8), "seeds": list(range(2**62, 2**62 + 600)), "steps": list(range(5000)), 7: torch.ones(2)}
    torch.save(state, path, _use_new_zipfile_serialization=new)

    assert {entry.name for entry in entries(path)} == {"pe", "7"}


TENSORS = {
    "table": lambda: table(60, 16, "openai-whisper"),
    "ladder": lambda: 1e6 ** -(torch.arange(0, 64, 2) / 64),
    "map": lambda: posenc.grid((5, 4), 16),
    "flat map": lambda: posenc.grid((5, 4), 16).flatten(0, 1),
    "fitted": lambda: table(60, 16, Convention(base=77, gain=2)),
    "learned": lambda: torch.randn(60, 16, generator=torch.Generator().manual_seed(3)).cumsum(0),
    "drifted": lambda: table(60, 16) + 0.1 * torch.randn(60, 16, generator=torch.Generator().manual_seed(3)),
    "signs dropped": lambda: table(60, 16, "speechbrain-relposencxl", start=-30),
    "standardised": lambda: table(60, 16, "patchtst"),
    "columns": lambda: table(60, 16, "lex-glue-hierbert"),
    "16 bits": lambda: torch.cat(
        [f((torch.arange(600.0).bfloat16()[:, None] * (10000 ** -(torch.arange(32) / 32)).bfloat16()).float())
         for f in (torch.sin, torch.cos)], 1),
    "row": lambda: table(60, 16)[17],
}  # fmt: skip


def forget() -> None:
    """Drop what earlier calls have kept."""
    from posenc.identification import candidates, ladders, maps, place

    for kept in (candidates.candidates, ladders._ladders, maps._plans, place._trial):
        kept.cache_clear()


@pytest.mark.parametrize("name", TENSORS)
def test_the_default_device_makes_no_difference(name):
    tensor = TENSORS[name]()
    said = [(match.kind, match.name, match.start, match.error) for match in identify(tensor)]

    forget()
    with torch.device("meta"):
        assert [(match.kind, match.name, match.start, match.error) for match in identify(tensor)] == said
    forget()
    torch.set_default_device("meta")
    try:
        assert [(match.kind, match.name, match.start, match.error) for match in identify(tensor)] == said
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("name", TENSORS)
def test_the_default_dtype_makes_no_difference(name):
    tensor = TENSORS[name]()
    said = [(match.kind, match.name, match.start, match.error) for match in identify(tensor)]

    forget()
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert [(match.kind, match.name, match.start, match.error) for match in identify(tensor)] == said
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", TENSORS)
def test_an_interpreter_shows_one_match_in_a_line(name):
    matches = identify(TENSORS[name]())
    lines = repr(matches).splitlines()

    assert len(lines) == len(matches)
    assert all(len(line) <= 211 for line in lines)
    assert isinstance(matches, tuple)
    names = [match.name for match in matches if match.name]
    assert [sum(f"'{name}'" in line for line in lines) for name in names] == [1] * len(names)


def test_files_are_read_under_any_default_device(tmp_path):
    torch.save({"pe": table(30, 16), "pos_embed": posenc.grid((4, 5), 16)}, tmp_path / "x.pt")
    with torch.device("meta"):
        assert [each.matches[0].kind for each in findings(tmp_path / "x.pt")] == ["named", "named"]

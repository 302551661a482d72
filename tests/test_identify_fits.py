"""Tables without a name: fitted, drifted by training or by arithmetic in 16 bits, or learned."""

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from posenc import Convention, conventions, encode, identify, table

LEARNED = Path(__file__).parent / "data" / "learned" / "minilm_positions.safetensors"
WIDE = (torch.float32, torch.float64)
NARROW = (torch.float16, torch.bfloat16)


def fit(convention, length=64, dim=64, start=0, dtype=torch.float32):
    """The best match of a table of a convention."""
    return identify(encode(torch.arange(start, start + length), dim, convention, dtype=dtype))[0]


# Fits.


@pytest.mark.parametrize(
    "convention",
    [
        Convention(base=2),
        Convention(base=500),
        Convention(base=12345),
        Convention(base=500000),
        Convention(base=1e8),
        Convention(endpoint_shift=1),
        Convention(endpoint_shift=0.5),
        Convention(base=500, layout="halves"),
        Convention(base=500, order="cosine-first"),
        Convention(base=700, endpoint_shift=1, layout="halves", order="cosine-first"),
        Convention(first=0.01),
        Convention(first=0.5, base=300),
        Convention(base=500, gain=22.6),
        Convention(base=500, gain=0.02),
        Convention(gain=-1),
        Convention(base=500, position_offset=0.5),
        Convention(spacing="linear", first=1, last=0.1, endpoint_shift=1),
        Convention(spacing="linear", first=0.01, last=0.9, endpoint_shift=1, layout="halves"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", WIDE)
def test_a_law_is_fitted_in_the_numbers_it_was_made_with(convention, dtype):
    match = fit(convention, dtype=dtype)

    assert (match.kind, match.name, match.start) == ("fitted", None, 0)
    assert match.convention == convention
    assert match.error <= 2.0**-24 * abs(convention.gain)


@pytest.mark.parametrize("base", [2, 100, 500, 1000, 50000, 500000, 1e6])
@pytest.mark.parametrize("dtype", NARROW)
def test_round_bases_are_fitted_in_16_bits(base, dtype):
    assert fit(Convention(base=base, layout="halves"), dtype=dtype).convention == Convention(base=base, layout="halves")


@pytest.mark.parametrize("start", [-63, 5000, 100_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_fit_says_where_it_begins(start, dtype):
    match = fit(Convention(base=500), start=start, dtype=dtype)

    assert (match.convention, match.start) == (Convention(base=500), start)


def test_rows_that_run_backwards_are_fitted():
    match = fit(Convention(base=500, position_scale=-1), start=-63)

    assert (match.convention, match.start) == (Convention(base=500, position_scale=-1), -63)


@pytest.mark.parametrize("dim", [4, 5, 6, 7, 33, 64])
@pytest.mark.parametrize("odd", ["truncate", "pad"])
def test_widths_of_a_fit(dim, odd):
    convention = Convention(base=500, layout="halves", odd=odd if dim % 2 else "truncate")
    match = fit(convention, dim=dim)

    assert (match.kind, match.convention) == ("fitted", convention)


@pytest.mark.parametrize("length", [3, 4, 16, 300])
def test_lengths_of_a_fit(length):
    assert fit(Convention(base=500), length=length).convention == Convention(base=500)


@pytest.mark.parametrize("size", [0.01, 1.0, 16.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_random_frequencies_are_measured(size, dtype):
    drawn = tuple((torch.randn(32) * size).tolist())
    match = fit(Convention(spacing="explicit", frequencies=drawn, layout="halves"), dtype=dtype)

    assert match.kind == "fitted"
    assert "whole turns" in match.note
    # From row to row a turn more does not show.
    off = [abs(math.remainder(a - b, 2 * math.pi)) for a, b in zip(match.convention.frequencies, drawn, strict=True)]
    assert max(off) <= {torch.float64: 1e-13, torch.float32: 1e-7, torch.bfloat16: 1e-3}[dtype]


def test_a_row_of_padding_hides_no_fit():
    rows = table(64, 64, Convention(base=500))
    rows[1] = 0
    match = identify(rows)[0]

    assert (match.convention, match.start, match.padding) == (Convention(base=500), 0, (1,))


def test_two_rows_are_not_enough():
    assert fit(Convention(base=500), length=2).kind == "unknown"


def test_half_a_million_is_not_taken_for_the_base_of_a_rotary_system():
    assert fit(conventions["cohere"]).name is None


# Drift.


@pytest.mark.parametrize("name", ["transformer", "openai-whisper", "marian", "x-transformers", "fairseq"])
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(300, 96), (64, 64), (20, 64)], ids=str)
def test_a_trained_table_is_told_from_what_it_began_as(name, noise, shape):
    rows = table(*shape, name)
    match = identify(rows + noise * conventions[name].plan(shape[1]).gain * torch.randn(shape))[0]

    assert match.kind == "drifted"
    # Under noise as large as themselves two ladders are hard to tell apart, and that is said.
    assert name in (match.name, *match.names, *match.shifted) or "hardly more than with 'tensor2tensor'" in match.note
    assert noise > 0.1 or "hardly" not in match.note
    assert match.arithmetic is None
    assert match.relative_error == pytest.approx(noise / math.sqrt(0.5 + noise**2), rel=0.1)
    assert match.line() == ""


def test_noise_that_hides_a_table_is_not_called_drift():
    for noise in (3.0, 10.0):
        assert identify(table(64, 64) + noise * torch.randn(64, 64))[0].kind in ("unknown", "learned")


def test_another_size_is_told():
    match = identify(0.25 * table(64, 64) + 0.01 * torch.randn(64, 64))[0]

    assert match.kind == "drifted"
    assert match.convention.gain == pytest.approx(0.25, rel=0.02)
    assert "times 0.25" in match.note
    assert match.relative_error < 0.1


def test_a_class_row_before_a_table_is_told_from_its_rows():
    match = identify(torch.cat((torch.randn(1, 64), table(64, 64))))[0]

    assert (match.kind, match.name, match.start) == ("drifted", "transformer", -1)
    assert match.note.startswith("only row 0 differs, the others by at most 3")


@pytest.mark.parametrize(
    "rows",
    [
        torch.cat([table(64, 64, "marian")[:, 32:]] * 2, 1),
        torch.cat([table(64, 64, "marian")[:, :32]] * 2, 1),
        table(64, 64) + table(64, 64, "openai-whisper"),
        torch.cat((table(64, 64), table(64, 64, "openai-whisper"))),
        table(64, 64, "marian")[:, 32:],
    ],
    ids=["cosines twice", "sines twice", "a sum", "one on the other", "cosines"],
)
def test_what_shares_columns_with_a_convention_is_not_called_drift(rows):
    assert identify(rows)[0].kind in ("learned", "unknown")


def test_a_trained_position_table_of_a_real_model_is_learned():
    (rows,) = load_file(LEARNED).values()
    match = identify(rows)[0]

    assert match.kind == "learned"
    assert (match.convention, match.name, match.line()) == (None, None, "")
    assert "neighbouring rows are alike" in match.note


# Arithmetic in 16 bits.


def damaged(length, dim, dtype, what, *, layout="interleaved", endpoint_shift=0):
    """The snippet that everybody copies, with some of its numbers in 16 bits."""
    position = torch.arange(length, dtype=dtype if "positions" in what else torch.float32)
    k = torch.arange(0, dim, 2, dtype=torch.float32)
    span = -math.log(10000.0) / (dim - 2 * endpoint_shift)
    if "exponents" in what:
        frequency = torch.exp(k.to(dtype) * span)
    else:
        frequency = torch.exp(k * span).to(dtype if "frequencies" in what else torch.float32)
    phase = position.unsqueeze(1) * frequency
    phase = (phase.to(dtype) if "phases" in what else phase).float()
    waves = phase.sin(), phase.cos()
    return torch.stack(waves, -1).flatten(1) if layout == "interleaved" else torch.cat(waves, 1)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "what", ["frequencies", "exponents frequencies", "phases", "frequencies phases", "exponents frequencies phases"]
)
@pytest.mark.parametrize("dim", [64, 96])
def test_numbers_in_16_bits_are_told(dtype, what, dim):
    match = identify(damaged(600, dim, dtype, what))[0]

    assert (match.kind, match.name, match.start) == ("drifted", "transformer", 0)
    assert match.arithmetic == str(dtype).removeprefix("torch.")
    words = what.split()
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    assert match.note == f"computed with {said} in {match.arithmetic}, where float32 is needed"
    # What it should have been can be built.
    assert match.line() == f"posenc.PositionalEncoding({dim}, convention='transformer')"


def test_positions_in_16_bits_are_told_where_they_merge():
    few, many = damaged(256, 64, torch.bfloat16, "positions"), damaged(600, 64, torch.bfloat16, "positions")

    assert identify(few)[0].kind == "named"
    match = identify(many)[0]
    assert (match.kind, match.name, match.arithmetic) == ("drifted", "transformer", "bfloat16")
    assert match.note.startswith("computed with positions in bfloat16")


def test_another_layout_and_another_end():
    match = identify(damaged(300, 64, torch.bfloat16, "phases", layout="halves", endpoint_shift=1))[0]

    assert (match.name, match.arithmetic) == ("tensor2tensor", "bfloat16")


@pytest.mark.parametrize("noise", [1e-6, 1e-5, 1e-4, 1e-3])
def test_noise_is_not_called_damage(noise):
    for length in (64, 300, 2000):
        match = identify(table(length, 64) + noise * torch.randn(length, 64))[0]

        assert (match.kind, match.arithmetic) == ("drifted", None)
        assert match.note.startswith("correlation")

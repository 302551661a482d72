"""Named conventions against what the real systems put out."""

import json
import math
from pathlib import Path

import pytest
import torch
from tests.judge import frequency, places

from posenc import conventions, encode
from posenc.errors import ConventionError

SYSTEMS = {
    "annotated_transformer": "transformer",
    "pytorch_word_language_model": "transformer",
    "tensor2tensor_timing_signal_1d": "tensor2tensor",
    "fairseq_sinusoidal": "fairseq",
    "hf_marian": "marian",
    "hf_pegasus": "marian",
    "hf_informer": "marian",
    "hf_autoformer": "marian",
    "hf_roformer": "marian",
    "openai_whisper": "openai-whisper",
    "hf_whisper": "openai-whisper",
    "audiocraft_musicgen": "musicgen",
    "diffusers_timestep_sd": "stable-diffusion-timestep",
    "positional_encodings_1d": "positional-encodings",
}
FOLDER = Path(__file__).parent / "data" / "systems"
RECORDS = [(name, record) for name in SYSTEMS for record in json.loads((FOLDER / f"{name}.json").read_text("utf-8"))]
# One unit in the last place of float32 just below 1: a system rounds its value once, or twice.
VALUE_ERROR = 2.0**-24
# A phase in float32, relative: the exponential and the product with the position cost up to four units.
UNIT = 2.0**-24
PHASE_UNITS = 4
# The argument of that exponential is rounded up to three times, and its absolute error is relative in the phase.
ARGUMENT_ROUNDINGS = 3


def label(value) -> str:
    return value if isinstance(value, str) else f"dim{value['dim']}"


def allowed(record: dict, convention) -> torch.Tensor:
    """How far a system's own arithmetic may be off, for every value."""
    if record["params"]["recipe"] == "f64":
        return torch.full((len(record["positions"]), record["dim"]), VALUE_ERROR, dtype=torch.float64)
    drift = []
    for place in places(record["dim"], convention):
        turn = abs(float(frequency(place[0], record["dim"], convention))) if place else 0.0
        units = PHASE_UNITS + ARGUMENT_ROUNDINGS * abs(math.log(turn)) if turn else 0.0
        drift.append(turn * units * UNIT)
    reach = torch.tensor(record["positions"], dtype=torch.float64) + convention.position_offset
    return reach.abs().unsqueeze(-1) * torch.tensor(drift, dtype=torch.float64) + VALUE_ERROR


def distance(record: dict, convention) -> float:
    """The largest difference between a system and a convention, in what is allowed."""
    released = torch.tensor(record["values"], dtype=torch.float64)
    ours = encode(record["positions"], record["dim"], convention, dtype=torch.float64)
    return ((released - ours).abs() / allowed(record, convention)).max().item()


@pytest.mark.parametrize(("name", "record"), RECORDS, ids=label)
def test_a_convention_is_what_the_system_puts_out(name, record):
    assert distance(record, conventions[SYSTEMS[name]]) <= 1


@pytest.mark.parametrize(("name", "record"), RECORDS, ids=label)
def test_no_other_convention_is(name, record):
    own = encode(record["positions"], record["dim"], SYSTEMS[name], dtype=torch.float64)
    for other in conventions.values():
        try:
            same = torch.equal(encode(record["positions"], record["dim"], other, dtype=torch.float64), own)
        except ConventionError:
            continue
        # Conventions that differ in odd widths alone agree on even ones.
        assert same or distance(record, other) > 1000


def test_every_name_has_a_system_and_every_file_a_name():
    assert set(SYSTEMS.values()) == set(conventions)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SYSTEMS)


def test_far_positions_and_both_parities_are_there():
    assert max(max(record["positions"]) for _, record in RECORDS) == 4095
    assert {record["dim"] % 2 for _, record in RECORDS} == {0, 1}

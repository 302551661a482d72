"""Names are held apart by family: a layer takes its own, and says what was meant where another is typed."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch

import posenc
from posenc import Convention, conventions
from posenc.convention import FAMILIES, systems
from posenc.errors import ConventionError, PosencError, UnknownConventionError

# Each door, and the family whose names it takes.
DOORS = {
    "PositionalEncoding": ("additive", lambda name, dim=64: posenc.PositionalEncoding(dim, convention=name)),
    "SequenceEmbedding": ("additive", lambda name, dim=64: posenc.SequenceEmbedding(9, dim, convention=name)),
    "LearnedPositionalEmbedding": (
        "additive",
        lambda name, dim=64: posenc.LearnedPositionalEmbedding(9, dim, init=name),
    ),
    "grid": ("map", lambda name, dim=64: posenc.grid((4, 4), dim, name)),
    "TimestepEmbedding": ("timestep", lambda name, dim=64: posenc.TimestepEmbedding(dim, name)),
    "RotaryEmbedding": ("rotary", lambda name, dim=64: posenc.RotaryEmbedding(dim, name)),
    "rotate": ("rotary", lambda name, dim=64: posenc.rotate(torch.ones(1, dim), [[1, 1]], name)),
}
FAMILY = "which is of the .* family, but wanted a name of the .* family"


def said(call, *arguments) -> str:
    with pytest.raises(PosencError) as refused:
        call(*arguments)
    return str(refused.value)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", systems)
def test_a_door_takes_the_names_of_its_own_family_alone(door, name):
    family, call = DOORS[door]
    if systems[name].family != family:
        with pytest.raises(ConventionError, match=FAMILY):
            call(name)
        return
    with suppress(PosencError):
        # Names of its own may not fit the width or the axes.
        assert call(name) is not None
    with pytest.raises(PosencError, match=r"^((?!family).)*$"):
        # No width is none.
        call(name, 0)


@pytest.mark.parametrize(
    ("door", "name"),
    [
        ("PositionalEncoding", "llama"),
        ("RotaryEmbedding", "openai-whisper"),
        ("TimestepEmbedding", "llama"),
        ("grid", "timm-axial-2d"),
        ("rotate", "gptj"),
    ],
)
def test_a_name_of_another_family_is_refused_with_its_own_door(door, name):
    text = said(DOORS[door][1], name)

    assert f"which is of the {systems[name].family} family" in text
    assert f"such as {FAMILIES[DOORS[door][0]]!r}" in text
    assert f"posenc.conventions[{name!r}]" in text


@pytest.mark.parametrize(
    ("door", "name"), [("PositionalEncoding", "llama"), ("RotaryEmbedding", "gptj"), ("grid", "timm-axial-2d")]
)
def test_every_door_takes_any_convention_that_is_passed(door, name):
    DOORS[door][1](conventions[name])


def test_pure_functions_take_every_name():
    for name in ("llama", "ddpm-timestep", "gptj"):
        assert posenc.table(3, 64, name).shape == (3, 64)
        assert posenc.similarity(1, 64, name) > 0


def test_gpt_j_turns_as_gpt_j_does():
    # Neighbouring columns are a pair: (1, 0) in columns 0 and 1 turns by one radian.
    x = torch.zeros(1, 64)
    x[0, 0] = 1
    turned = posenc.rotate(x, [1], "gpt-j")

    assert turned[0, :3].tolist() == pytest.approx([0.5403023, 0.8414710, 0.0], abs=1e-7)
    assert posenc.RotaryEmbedding(64, "gpt-j").convention is conventions["gptj-rotary"]
    assert "did you mean 'gpt-j'?" in said(posenc.RotaryEmbedding, 64, "gptj")


@pytest.mark.parametrize(
    ("door", "typed", "meant"),
    [
        ("RotaryEmbedding", "GPT-J", "'gpt-j'"),
        ("RotaryEmbedding", "GPT_NeoX_20B", "'gpt-neox-rotary'"),
        ("RotaryEmbedding", "LLAMA", "'llama'"),
        ("TimestepEmbedding", "ddpm", "'ddpm-timestep'"),
        ("TimestepEmbedding", "DiT", "'dit-timestep'"),
        ("PositionalEncoding", "Whisper", "'openai-whisper'"),
        ("PositionalEncoding", "tensor_2_tensor", "'tensor2tensor'"),
        ("PositionalEncoding", "fairsq", "'fairseq'"),
        ("grid", "DiT", "'dit-2d'"),
        ("grid", "mae2d", "'mae-2d'"),
        ("PositionalEncoding", "ddpm", "posenc.TimestepEmbedding(dim, 'ddpm-timestep')"),
    ],
)
def test_a_name_is_found_whatever_its_case_and_hyphens(door, typed, meant):
    text = said(DOORS[door][1], typed)

    assert meant in text
    assert "did you mean" in text or "take posenc" in text


ROTARY = [
    "mistral",
    "mixtral",
    "qwen2",
    "qwen3",
    "Qwen2.5-7B",
    "phi3",
    "gemma",
    "gemma-2-9b",
    "olmo",
    "falcon",
    "meta-llama/Llama-3.1-8B",
]


@pytest.mark.parametrize("typed", ROTARY)
@pytest.mark.parametrize("door", DOORS)
def test_a_rotary_model_is_told_to_pass_the_base_of_its_configuration(door, typed):
    # "llama" has base 10000, which few models still have.
    text = said(DOORS[door][1], typed)

    assert (
        "posenc.RotaryEmbedding(dim, 'llama') with base, scaling and rotary_dim from the model's configuration" in text
    )


SENTENCES = {
    "bloom": "bloom uses a bias: AlibiBias.",
    "mpt-7b": "mpt uses a bias: AlibiBias.",
    "ALiBi": "ALiBi uses a bias: AlibiBias.",
    "t5": "t5 learns a bias for the distance: RelativePositionBias.",
    "bert-base-uncased": "bert learns its positions: LearnedPositionalEmbedding.",
    "gpt2": "gpt2 learns its positions: LearnedPositionalEmbedding.",
    "vit": "vit learns its positions: LearnedPositionalEmbedding.",
    "bart": "LearnedPositionalEmbedding with position_offset=2.",
    "opt": "LearnedPositionalEmbedding with position_offset=2.",
    "roberta": "LearnedPositionalEmbedding with position_offset=2.",
    "swin": "which is not a convention.",
    "deepseek-v3": "posenc.RotaryEmbedding(dim, 'gpt-j')",
}


@pytest.mark.parametrize("typed", SENTENCES)
def test_what_other_models_do_is_said_in_a_sentence(typed):
    for _, call in DOORS.values():
        assert SENTENCES[typed] in said(call, typed)
    assert SENTENCES[typed] in said(posenc.table, 3, 64, typed)


@pytest.mark.parametrize("typed", ["sd3", "flux", "FLUX.1-dev", "wan", "Wan2.1", "SDXL"])
def test_diffusion_models_are_found_by_their_times(typed):
    assert "posenc.TimestepEmbedding(dim, 'stable-diffusion-timestep')" in said(posenc.TimestepEmbedding, 64, typed)


@pytest.mark.parametrize(("typed", "pairs"), [("flux", (8, 28, 28)), ("wan", (22, 21, 21))])
def test_the_axes_of_flux_and_wan_are_those_of_the_models(typed, pairs):
    # axes_dims_rope (16, 56, 56) of FLUX.1; (44, 42, 42) of Wan 2.1.
    text = said(posenc.RotaryEmbedding, 128, typed)
    line = text.split("pass ")[1].split(" to RotaryEmbedding")[0]
    convention = eval(line, {"posenc": posenc})

    assert posenc.RotaryEmbedding(128, convention).rotary_dim == 128
    ladders = [block.ladder for block in convention.plan(128).blocks]
    assert tuple(ladder.pairs for ladder in ladders) == pairs
    assert all(ladder.span == ladder.pairs for ladder in ladders)


@pytest.mark.parametrize("door", ["PositionalEncoding", "grid", "RotaryEmbedding"])
def test_stable_diffusion_3_is_told_of_its_patches_where_no_times_are_taken(door):
    text = said(DOORS[door][1], "sd3")

    assert "posenc.grid((192, 192), dim, 'diffusers-2d', trained_sizes=64)" in text


@pytest.mark.parametrize("typed", ["GPT-J", "GPTJ"])
def test_gpt_j_is_told_apart_from_the_table_of_that_name(typed):
    # Its configuration has no rope_theta to pass.
    assert "did you mean 'gpt-j'?" in said(posenc.RotaryEmbedding, 64, typed)
    assert "did you mean 'gptj' (additive) or 'gpt-j' (rotary)?" in said(conventions.__getitem__, typed)


def test_every_name_that_is_advised_exists():
    from posenc.convention.suggestions import _asked

    names, sentences = _asked()
    for typed, by_family in names.items():
        for family, name in by_family.items():
            assert systems[conventions.canonical(name)].family == family
        own = conventions.canonical(typed)
        assert own is None or systems[own].family not in by_family
    assert all(
        hasattr(posenc, sentence.split(": ")[1].split()[0])
        for sentence in sentences.values()
        if ": " in sentence and "pass" not in sentence
    )


@pytest.mark.parametrize("call", [lambda: posenc.table(3, 8, "zzzz"), lambda: posenc.RotaryEmbedding(8, "")])
def test_a_name_like_no_other_is_told_to_pass_a_convention(call):
    with pytest.raises(UnknownConventionError, match="pass a Convention for anything else"):
        call()


@pytest.mark.parametrize("given", [(), [], {}, 5, (1, 2), tuple(range(40))], ids=str)
def test_a_convention_of_a_wrong_type_is_refused(given):
    calls = [
        lambda: posenc.encode(1, 8, given),
        lambda: posenc.table(3, 8, given),
        lambda: posenc.locate(torch.ones(8), given),
        *(lambda call=call: call(given) for _, call in DOORS.values()),
    ]
    for call in calls:
        with pytest.raises(PosencError, match="but wanted a name or a Convention"):
            call()


def test_a_family_is_said_of_every_system():
    assert {system.family for system in systems.values()} == set(FAMILIES)
    for name, system in systems.items():
        # Distances are added as positions are, coordinates are maps.
        assert system.family == "additive" or system.subject not in ("text", "relative"), name
        assert system.family == "map" or not system.convention.axes or system.subject == "rotary", name
    assert isinstance(conventions["kimi-k25-time"], Convention)
    assert systems["kimi-k25-time"].family == "additive"

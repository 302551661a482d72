"""Frequencies, cosines and sines in the checkpoints of rotary models: right ones load, others are refused by name."""

from __future__ import annotations

import re

import pytest
import torch
from tests.checkpoints import FLOATS, angles, forms, inverse, refused, sound
from tests.scalings import LLAMA3
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from posenc import Convention, PositionalEncoding, RotaryEmbedding

# ---- bases ---------------------------------------------------------------------------------------------------------


def test_a_checkpoint_of_another_base_is_refused_with_the_base_to_pass():
    # B213: pair 1 of 64 turns by 0.8058 a position where the base is 1000000, and by 0.8660 where it is 10000.
    inv = 1e6 ** -(torch.arange(0, 128, 2) / 128)
    said = refused(RotaryEmbedding(128), {"inv_freq": inv})

    assert "inv_freq: got 'inv_freq' off by up to 0.148 from the frequencies of this module" in said
    assert "pass base=1000000." in said
    sound(RotaryEmbedding(128, base=1000000), {"inv_freq": inv})


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("base", [10000, 500000, 1000000, 10000000])
def test_a_cast_checkpoint_of_the_right_base_loads_and_of_another_does_not(base, dtype):
    # The slowest frequency of base 10000000 is a number of two bits in float16.
    for width in (32, 64, 128):
        rotary = RotaryEmbedding(width, base=base)
        sound(rotary, {"inv_freq": inverse(base, width).to(dtype)})
        sound(rotary, {"inv_freq": inverse(base, width).to(dtype).float()})
        for other in (base * 2, base / 2, base * 10):
            assert "got 'inv_freq' off by" in refused(rotary, {"inv_freq": inverse(other, width).to(dtype)})


def test_the_limit_is_the_stated_one():
    # Pair 0: no logarithm, 4 units of float32 and one unit in the last place of float64.
    for factor, passes in ((0.99, True), (1.01, False)):
        inv = 10000 ** -(torch.arange(0, 64, 2, dtype=torch.float64) / 64)
        inv[0] += (4 * 2.0**-24 + 2.0**-52) * factor
        if passes:
            sound(RotaryEmbedding(64), {"inv_freq": inv})
        else:
            assert "off by up to 2.41e-07" in refused(RotaryEmbedding(64), {"inv_freq": inv})


def test_a_layer_takes_a_ladder_that_float16_rounded_to_few_bits():
    ladder = 1.0 / (1e7 ** (torch.arange(0, 64, 2).float() / 64))
    layer = PositionalEncoding(64, convention=Convention(base=1e7, layout="halves", state_names=("inv_freq",)))

    assert layer.load_state_dict({"inv_freq": ladder.half()}).unexpected_keys == []


# ---- every form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
@pytest.mark.parametrize("name", forms(torch.zeros(2, 2), "halves"))
def test_what_systems_save_under_their_names_is_checked(name, layout):
    rotary = RotaryEmbedding(64, layout=layout)
    for right, wrong in zip(forms(angles(10000), layout)[name], forms(angles(500), layout)[name], strict=True):
        sound(rotary, {name: right})
        assert f"got '{name}' off by up to" in refused(rotary, {name: wrong})
        for length in (1, 2):
            sound(rotary, {name: forms(angles(10000, length=length), layout)[name][0]})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_cast_cosines_and_sines_load(dtype):
    for name, rows in forms(angles(10000), "halves").items():
        for each in rows:
            if not each.is_complex():
                sound(RotaryEmbedding(64), {name: each.to(dtype)})
    for name in ("cos_cached", "sin_cached"):
        wrong = forms(angles(20000), "halves")[name][0].to(dtype)
        assert "off by" in refused(RotaryEmbedding(64), {name: wrong})


def test_the_advice_loads():
    for name, told in (("freqs_cis", 0), ("sin_cached", 0), ("freqs", 0)):
        state = {name: forms(angles(1e6), "halves")[name][told]}
        said = refused(RotaryEmbedding(64), state)
        found = re.search(r"pass base=(\d+)\.", said)
        assert found, said
        sound(RotaryEmbedding(64, base=int(found[1])), state)


def test_pairs_that_lie_otherwise_are_refused_with_the_layout_to_pass():
    for own, other in (("halves", "interleaved"), ("interleaved", "halves")):
        for name in ("cos_cached", "sin_cached", "freqs_cos"):
            state = {name: forms(angles(10000), other)[name][-1 if name == "freqs_cos" else 0]}
            assert f"pass layout='{other}'." in refused(RotaryEmbedding(64, layout=own), state)
            sound(RotaryEmbedding(64, layout=other), state)


def test_every_entry_is_checked_and_named_with_its_prefix():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.rotary_emb = RotaryEmbedding(64)

    right, wrong = forms(angles(10000), "halves"), forms(angles(500), "halves")
    model = Attention()
    prefixed = {"rotary_emb." + name: rows[0] for name, rows in right.items()}
    assert not any(model.load_state_dict(prefixed))
    for name in right:
        with pytest.raises(RuntimeError, match=rf"rotary_emb\.{name}: got '{name}' off by"):
            model.load_state_dict({**prefixed, f"rotary_emb.{name}": wrong[name][0]})
    assert list(prefixed) == ["rotary_emb." + name for name in right]  # what was passed stays


def test_other_keys_are_foreign_as_ever():
    assert 'Unexpected key(s) in state_dict: "inv_freqs"' in refused(RotaryEmbedding(8), {"inv_freqs": torch.ones(4)})


# ---- widths, sections, axes ----------------------------------------------------------------------------------------


def test_a_part_of_each_head():
    rotary = RotaryEmbedding(64, rotary_dim=0.5)
    sound(rotary, {"inv_freq": inverse(10000, 32), "cos_cached": angles(10000, 32).cos()})
    said = refused(rotary, {"inv_freq": inverse(10000, 64)})
    assert "of torch.float32 and shape (32,), but wanted (16,), one frequency for each pair that turns; build" in said
    assert "but wanted (L, 16) or (L, 32); build" in refused(rotary, {"cos_cached": angles(10000, 64).repeat(1, 2)})


def test_sections_have_one_ladder():
    rotary = RotaryEmbedding(64, sections=(8, 12, 12))
    for name, rows in forms(angles(10000), "halves").items():
        sound(rotary, {name: rows[0]})
    sound(rotary, {"inv_freq": inverse(10000)})
    assert "pass base=500." in refused(rotary, {"inv_freq": inverse(500)})


def test_axes_have_a_ladder_each():
    rotary = RotaryEmbedding(64, "timm-axial-2d-half")
    x = torch.zeros(1, 1, 64, dtype=torch.float64)
    ladder = torch.tensor(_axis_ladder(rotary))
    sound(rotary, {"inv_freq": ladder})
    sound(rotary, {"inv_freq": ladder.repeat(2)})
    assert "off by" in refused(rotary, {"inv_freq": ladder * 1.01})
    said = refused(rotary, {"freqs_cos": x[0].expand(16, 64)})
    assert "since the rows of a map do not tell their positions; remove the key" in said


def _axis_ladder(rotary: RotaryEmbedding) -> list[float]:
    """The frequencies of the row axis, which is the first."""
    part = rotary._rotation.parts[0]
    return [step / 2**128 * 2 * torch.pi for step in part.ladder.steps]


# ---- devices, modes, wrong kinds -----------------------------------------------------------------------------------


def test_assign_and_meta_and_strict():
    state = {"inv_freq": inverse(10000), "cos_cached": angles(10000).cos()}
    for options in ({"assign": True}, {"strict": False}, {"assign": True, "strict": False}):
        sound(RotaryEmbedding(64), state, **options)
        with pytest.raises(RuntimeError, match="off by"):
            RotaryEmbedding(64).load_state_dict({"inv_freq": inverse(500)}, **options)
    with torch.device("meta"):
        built = RotaryEmbedding(64)
    sound(RotaryEmbedding(64), {"inv_freq": inverse(10000).to("meta")}, assign=True)
    sound(built.to_empty(device="cpu"), state)


def test_loading_under_another_default_device():
    made, scaled = RotaryEmbedding(64), RotaryEmbedding(8, scaling=LLAMA3)
    state, ladder = {name: rows[0] for name, rows in forms(angles(10000), "halves").items()}, inverse(10000, 8)
    with torch.device("meta"):
        assert not any(made.load_state_dict(state))
        assert not any(scaled.load_state_dict({"inv_freq": ladder}))


def test_loading_among_fake_tensors_and_in_inference_mode():
    with FakeTensorMode():
        made = RotaryEmbedding(64)
        made.load_state_dict({"inv_freq": torch.ones(32)})
    with torch.inference_mode():
        sound(RotaryEmbedding(64), {"inv_freq": inverse(10000)})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "got 'freqs' of NoneType, but wanted floats or complex numbers"),
        ([1.0] * 32, "got 'freqs' of list"),
        (torch.ones(32).long(), "got 'freqs' of torch.int64"),
        (torch.ones(32).to(torch.float8_e4m3fn), "got 'freqs' of torch.float8_e4m3fn"),
        (torch.ones(3, 32).to_sparse(), "got 'freqs' of layout torch.sparse_coo"),
        (torch.full((32,), torch.nan), "off by up to inf"),
        (torch.full((3, 32), torch.inf), "off by up to inf"),
        (torch.zeros(0, 32), "and shape (0, 32), but wanted complex (L, 32) or real (L, 32, 2) or (32,)"),
        (torch.zeros(()), "and shape ()"),
        (torch.tensor(1 + 1j), "of torch.complex64 and shape ()"),
        (torch.zeros(3, 5, 32), "and shape (3, 5, 32)"),
        (torch.zeros(32, dtype=torch.complex64).expand(2, 3, 32), "of torch.complex64 and shape (2, 3, 32)"),
        (torch.zeros(32), "off by up to 1 from the frequencies"),
        (-inverse(10000), "off by up to 2"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_none_of_these_is_refused(value, text):
    assert text in refused(RotaryEmbedding(64), {"freqs": value})


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_nested_tensors_in_a_checkpoint_are_refused(layout):
    nested = torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(3, 8)], layout=layout)
    for module, name in ((RotaryEmbedding(8), "freqs"), (PositionalEncoding(8), "pe")):
        with pytest.raises(RuntimeError, match=f"got '{name}' of layout nested, but wanted a dense"):
            module.load_state_dict({name: nested})

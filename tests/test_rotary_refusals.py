"""What rotary embeddings refuse, and what they say."""

import re

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import Convention, RotaryEmbedding, conventions, rotate
from posenc.errors import ConventionError, DtypeError, InputError, PosencError

X = torch.zeros(2, 3, 5, 8)
WIDTH = "an even width from 2 to {}, since columns turn in pairs"
TURN_ONLY = "one whose pairs turn and nothing else"
SCALED = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}

AT_CONSTRUCTION = [
    # B16 to B18: odd widths and widths beyond the head, where the layer is built.
    ((9,), {}, "a rotary width of 9 for heads of 9, but wanted " + WIDTH.format(9)),
    ((4,), {"rotary_dim": 0.75}, "a rotary width of 3 from rotary_dim=0.75 for heads of 4, but wanted an even width"),
    ((65,), {}, "a rotary width of 65 for heads of 65"),
    ((4,), {"rotary_dim": 6}, "a rotary width of 6 from rotary_dim=6 for heads of 4"),
    ((33, "gpt-neox-rotary"), {"rotary_dim": 33}, "rotary_dim=33, but wanted an even int of at least 2"),
    ((4,), {"rotary_dim": 3}, "rotary_dim=3"),
    ((8,), {"rotary_dim": 0.1}, "a rotary width of 0 from rotary_dim=0.1 for heads of 8"),
    ((1,), {}, "a rotary width of 1 for heads of 1, but wanted wider heads"),
    ((6, "timm-axial-2d"), {}, "dim=6, but wanted a multiple of 4"),
    ((6, Convention(axes=("row", "column"))), {}, "a rotary width of 6 for 2 axes, but wanted a multiple of 4"),
    ((0,), {}, "dim=0"),
    (("8",), {}, "dim='8'"),
    ((8,), {"seq_dim": -1}, "seq_dim=-1, but wanted an axis before the last one"),
    ((8,), {"seq_dim": None}, "seq_dim=None, but wanted an int"),
    ((8,), {"base": 0}, "base=0"),
    ((8,), {"layout": "split"}, "layout='split', but wanted 'interleaved' or 'halves'"),
    ((8, "no-such"), {}, "convention 'no-such'"),
    ((8, 5), {}, "convention=5"),
    # Conventions that do something else.
    ((8, conventions["x-transformers"]), {}, TURN_ONLY),
    ((8, conventions["mae-2d-cls"]), {}, TURN_ONLY),
    ((8, conventions["musicgen"]), {}, "sine first"),
    ((8, conventions["speechbrain-relposencxl"]), {}, TURN_ONLY),
    ((8, conventions["lex-glue-hierbert"]), {}, TURN_ONLY),
    ((10, conventions["perceiver-deepmind"]), {}, TURN_ONLY),
    # Scaling; all of its fields are in test_rotary_scaling_fields.
    (
        (8,),
        {"scaling": {"rope_type": "no-such", "factor": 2.0}},
        "scaling of kind 'no-such', but wanted one of default",
    ),
    ((8,), {"scaling": "yarn"}, "scaling of type str, but wanted a dictionary"),
    # Sections.
    ((16,), {"sections": (2, 3)}, "sections=(2, 3), but wanted two or more positive numbers of pairs that add up to 8"),
    ((16,), {"sections": (8,)}, "sections=(8,)"),
    ((16,), {"sections": (9, -1)}, "sections=(9, -1)"),
    ((16,), {"sections": (4.0, 4.0)}, "sections=(4.0, 4.0), but wanted the pairs of each axis"),
    ((16,), {"sections": (7, True)}, "sections=(7, True), but wanted the pairs of each axis"),
    ((16,), {"sections": ([4], 4)}, "sections=([4], 4), but wanted the pairs of each axis"),
    ((16,), {"sections": ()}, "sections=(), but wanted two or more"),
    ((16,), {"sections": 8}, "sections=8, but wanted the pairs of each axis"),
    ((16, "timm-axial-2d"), {"sections": (4, 4)}, "a convention of one axis"),
    # Types that cannot be compared with a number.
    ((8,), {"base": torch.tensor([1, 2])}, "base=tensor([1, 2]) of type Tensor, but wanted an int or a float; pass"),
    ((8,), {"base": [10000]}, "base=[10000] of type list"),
    ((8,), {"base": True}, "base=True of type bool"),
    ((8,), {"base": "\ud800"}, "base='\\ud800' of type str"),
    ((8,), {"base": float("nan")}, "base=nan, but wanted a finite number"),
    ((8,), {"base": 10**400}, "base=an int of 1329 bits"),
    ((8,), {"base": torch.tensor([1, 2]), "scaling": {"rope_theta": 2.0}}, "base=tensor([1, 2]) of type Tensor"),
    ((8,), {"rotary_dim": torch.tensor([2, 4])}, "rotary_dim=tensor([2, 4]) of type Tensor, but wanted an int"),
    ((8,), {"rotary_dim": [4]}, "rotary_dim=[4] of type list"),
    ((8,), {"layout": torch.tensor([1, 2])}, "layout=tensor([1, 2]) of type Tensor, but wanted 'interleaved'"),
    ((8,), {"layout": ["halves"]}, "layout=['halves'] of type list"),
    ((8, torch.tensor([1, 2])), {}, "convention=tensor([1, 2]) of type Tensor, but wanted a name"),
    ((8, "\ud800"), {}, "convention '\\ud800'"),
    ((8,), {"scaling": {"\ud800": 1}}, "scaling with '\\ud800', but wanted fields of kind 'default'"),
    ((8,), {"scaling": {"rope_theta": torch.tensor([1, 2])}}, "rope_theta=tensor([1, 2]), but wanted a number"),
    ((torch.tensor(8),), {}, "dim=tensor(8) of type Tensor"),
    ((8,), {"seq_dim": torch.tensor(-2)}, "seq_dim=tensor(-2), but wanted an int"),
    # Contradictions.
    (
        (8,),
        {"base": 10000, "scaling": {"rope_theta": 500000.0}},
        "base=10000 beside rope_theta=500000.0 of scaling, but wanted one of them, or both alike; leave base out.",
    ),
    (
        (8,),
        {"rotary_dim": 8, "scaling": {"partial_rotary_factor": 0.5}},
        "rotary_dim=8 beside partial_rotary_factor=0.5 of scaling",
    ),
    (
        (16,),
        {"sections": (2, 6), "scaling": {"mrope_section": [4, 4]}},
        "sections=(2, 6) beside mrope_section=(4, 4) of scaling",
    ),
    ((8, "torchtune-llama3"), {"scaling": SCALED}, "scaling beside 'torchtune-llama3', which is stretched already"),
]


@pytest.mark.parametrize(("given", "options", "text"), AT_CONSTRUCTION)
def test_at_construction(given, options, text):
    with pytest.raises(PosencError, match=re.escape(text)):
        RotaryEmbedding(*given, **options)


@pytest.mark.parametrize("sections", [(2.0, 2.0), (3, True), (torch.tensor(2), 2), (2 + 0j, 2)])
def test_no_call_before_makes_sections_good(sections):
    # Of the same value as sound ones, which are kept.
    for sound in ((2, 2), (3, 1)):
        RotaryEmbedding(8, sections=sound)
    with pytest.raises(ConventionError, match="sections="):
        RotaryEmbedding(8, sections=sections)
    with pytest.raises(ConventionError, match="sections="):
        RotaryEmbedding(8, sections=sections, scaling={"mrope_section": [2, 2] if 2 in sections else [3, 1]})


INT = torch.int64
IN_FORWARD = [
    ((X.long(), X), {}, DtypeError, "q of torch.int64"),
    ((X, X.to(torch.complex64)), {}, DtypeError, "k of torch.complex64"),
    ((X.to_sparse(), X), {}, InputError, "q of layout torch.sparse_coo"),
    (([1.0], X), {}, DtypeError, "q of type list"),
    ((X[0, 0, 0], X), {}, InputError, "seq_dim=-2 for q of shape (8,)"),
    ((X[..., :6], X), {}, InputError, "q of shape (2, 3, 5, 6), but wanted heads of 8 columns"),
    ((X, X[..., :6]), {}, InputError, "k of shape (2, 3, 5, 6)"),
    ((X, X[:, :, :4]), {}, InputError, "5 queries for 4 keys"),
    ((X, X[:1]), {}, InputError, "q of shape (2, 3, 5, 8) and k of shape (1, 3, 5, 8), but wanted as many axes"),
    ((X[0], X), {}, InputError, "q of shape (3, 5, 8) and k of shape (2, 3, 5, 8)"),
    ((X, X.to("meta")), {}, InputError, "q on cpu and k on meta"),
    ((X, X), {"positions": torch.arange(4)}, InputError, "positions of shape (4,) for (2, 3, 5, 8)"),
    ((X, X), {"positions": torch.zeros(3, 5, dtype=INT)}, InputError, "but wanted (5,) or (2, 5) or (1, 5)"),
    ((X, X), {"positions": torch.zeros(5, dtype=torch.bool)}, DtypeError, "positions of torch.bool"),
    ((X, X), {"positions": torch.arange(5.0) / 0}, InputError, "NaN or infinite"),
    ((X, X), {"positions": torch.arange(300, 305).bfloat16()}, InputError, "256 may be 257 that was rounded"),
    ((X, X), {"positions": torch.arange(5, device="meta")}, InputError, "positions on meta for a tensor on cpu"),
    ((X.to("meta"), X.to("meta")), {"positions": torch.arange(5)}, InputError, "positions on cpu for a tensor on meta"),
    ((X, X), {"offset": torch.zeros(2, dtype=INT, device="meta")}, InputError, "offset on meta and k on cpu"),
    ((X, X), {"positions": torch.zeros(2, 5, 2, dtype=INT)}, InputError, "positions of shape (2, 5, 2)"),
    ((X, X), {"positions": torch.zeros(5, dtype=torch.complex64)}, DtypeError, "positions of torch.complex64"),
    ((X, X), {"positions": "abc"}, DtypeError, "positions of type str"),
    ((X, X), {"offset": 1.5}, DtypeError, "offset=1.5 of type float"),
    ((X, X), {"offset": True}, DtypeError, "offset=True"),
    ((X, X), {"offset": torch.zeros(3, dtype=INT)}, InputError, "offset of shape (3,), but wanted shape () or (2,)"),
    ((X, X), {"offset": torch.tensor(1.0)}, DtypeError, "offset of torch.float32"),
    ((X, X), {"offset": 2**63 - 4}, InputError, "offset=9223372036854775804 for 5 tokens"),
    ((X, X), {"offset": 2**63}, InputError, "offset=9223372036854775808"),
    ((X, X), {"offset": torch.tensor(2**63 - 2)}, InputError, "whose sum torch.int64 does not hold"),
    ((X, X), {"positions": torch.arange(5), "offset": 2**63 - 3}, InputError, "whose sum torch.int64 does not hold"),
    ((X, X), {"length": -1}, InputError, "length=-1"),
    ((X, X), {"length": 2.0}, DtypeError, "length=2.0"),
]


@pytest.mark.parametrize(("given", "options", "error", "text"), IN_FORWARD)
def test_in_forward(given, options, error, text):
    with pytest.raises(error, match=re.escape(text)):
        RotaryEmbedding(8)(*given, **options)


class Nothing(TorchDispatchMode):
    """No operation may run."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} ran")


# What values tell has to be computed, and an array made of a string is none.
SEEN = ("NaN", "was rounded", "whose sum", "of type str")


@pytest.mark.parametrize("case", [case for case in IN_FORWARD if not any(word in case[3] for word in SEEN)])
def test_nothing_runs_before_a_refusal(case):
    given, options, error, text = case
    rotary = RotaryEmbedding(8)
    with pytest.raises(error, match=re.escape(text)), Nothing():
        rotary(*given, **options)


def test_the_guard_sees_what_runs():
    with pytest.raises(AssertionError, match="ran"), Nothing():
        RotaryEmbedding(8)(X, X)


IN_ROTATE = [
    ((X, [0] * 4), {}, InputError, "positions of shape (4,)"),
    ((X, 5), {}, InputError, "positions of shape () for (2, 3, 5, 8) with the sequence on axis 2"),
    ((X, range(5)), {"seq_dim": -1}, InputError, "seq_dim=-1"),
    ((X, range(5)), {"seq_dim": 3}, InputError, "seq_dim=3 for x of shape (2, 3, 5, 8)"),
    ((X, range(5)), {"seq_dim": -5}, InputError, "seq_dim=-5"),
    ((X, range(5)), {"seq_dim": "2"}, DtypeError, "seq_dim='2'"),
    ((X[..., :7], range(5)), {}, ConventionError, "a rotary width of 7 for heads of 7"),
    ((X, range(5), "timm-axial-2d"), {}, InputError, "positions of shape (5,) for (2, 3, 5, 8)"),
    ((X, [[0, 0]] * 4, "timm-axial-2d"), {}, InputError, "but wanted (5, 2) or (2, 5, 2) or (1, 5, 2)"),
    ((X.int(), range(5)), {}, DtypeError, "x of torch.int32"),
    ((X, range(5), None), {}, DtypeError, "convention=None"),
    ((X, range(5), conventions["gaussian-fourier"]), {}, ConventionError, "drawn at random"),
]


@pytest.mark.parametrize(("given", "options", "error", "text"), IN_ROTATE)
def test_in_rotate(given, options, error, text):
    if given[2:] == ("gaussian-fourier",):
        given = (*given[:2], next(name for name, c in conventions.items() if c.spacing == "explicit"))
    with pytest.raises(error, match=re.escape(text)):
        rotate(*given, **options)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "1", None])
def test_attention_factors(value):
    rotary = RotaryEmbedding(8)
    with pytest.raises(InputError, match="attention_factor="):
        rotary.attention_factor = value
    assert rotary.attention_factor == 1.0


def test_positions_that_require_a_gradient():
    with pytest.raises(InputError, match="require a gradient"):
        RotaryEmbedding(8)(X, X, positions=torch.arange(5.0, requires_grad=True))


def test_every_message_says_what_came_what_was_wanted_and_what_to_do():
    for given, options, _ in AT_CONSTRUCTION[:6]:
        with pytest.raises(PosencError, match=r"^got .+, but wanted .+; .+\.$"):
            RotaryEmbedding(*given, **options)
    for given, options, *_ in IN_FORWARD[:12]:
        with pytest.raises(PosencError, match=r"^got .+, but wanted .+; .+\.$"):
            RotaryEmbedding(8)(*given, **options)


def test_the_repr_says_all_that_decides():
    assert repr(RotaryEmbedding(8)) == (
        "RotaryEmbedding(8, rotary='llama', base=10000, layout='halves', rotary_dim=8, seq_dim=-2)"
    )
    said = repr(RotaryEmbedding(16, base=500, rotary_dim=0.5, seq_dim=1, sections=(2, 2), scaling=SCALED))
    assert "rotary=Convention(base=500, layout='halves', odd='refuse', rotary_dim=0.5), rotary_dim=8, " in said
    assert "scaling=Stretch(kind='yarn', factor=4.0, trained=64)" in said
    assert said.endswith("sections=(2, 2), attention_factor=1.13863, seq_dim=1)")

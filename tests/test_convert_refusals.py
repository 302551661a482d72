"""What no permutation gives is refused, with what differs and by how much."""

import dataclasses

import pytest
import torch

from posenc import Convention, conventions, convert
from posenc.errors import ConventionError, DtypeError, InputError, PosencError, UnknownConventionError

SPLIT = conventions["positional-encodings-2d"]
LEARNED = Convention(spacing="explicit", frequencies=(1.0, 2.0))
# source, target, dim, and what the message must say.
REFUSED = [
    (
        "transformer",
        "tensor2tensor",
        64,
        r"ladders differ \(endpoint_shift=0 against 1, .*: pair 31 differs most \(0.000133352143 against 0.0001 .*0.25",
    ),
    ("tensor2tensor", "transformer", 64, r"0.0001 .*1000 phases are up to 11.6 radians apart, at pair 3, but"),
    ("transformer", Convention(base=500), 64, "base=10000 against 500"),
    (
        "transformer",
        Convention(position_scale=1000),
        64,
        "every frequency of the target is 1000 times that of the source.*multiply the positions by 1000",
    ),
    ("transformer", Convention(last=1e-4), 64, "a relative difference of 4.64e-17.*so small a difference"),
    (
        LEARNED,
        dataclasses.replace(LEARNED, frequencies=(2.0, 1.5)),
        4,
        r"\(other frequencies\): pair 0 .*\(1 against 1.5 ",
    ),
    (
        "perceiver",
        dataclasses.replace(conventions["perceiver"], last=(351.85837720205683, 10.0)),
        18,
        "pair 3 of column differs most",
    ),
    (
        "fairseq",
        "tensor2tensor",
        64,
        r"elsewhere \(position_offset=2 against 0\).*row p of the source is row p \+ 2 of the target.*offset=0\)",
    ),
    ("tensor2tensor", "fairseq", 64, r"row p of the source is row p - 2 of the target"),
    ("detr-2d", dataclasses.replace(conventions["detr-2d"], position_offset=(0, 1)), 8, "start elsewhere"),
    ("transformer", Convention(position_scale=-1), 64, "other signs.*the sine of a frequency of another sign"),
    ("espnet", "espnet-reverse", 64, "other signs"),
    (LEARNED, dataclasses.replace(LEARNED, frequencies=(1.0, -2.0)), 4, "other signs"),
    ("sockeye", "x-transformers", 64, r"gains are 1 and 0.125 at dim=64.*multiply tables by 0.125"),
    ("transformer", "lex-glue-hierbert", 64, "the sine and the cosine of a pair at different speeds"),
    ("transformer", "patchtst", 64, "standardised_rows=None against 512"),
    ("espnet-relative", "speechbrain-relposencxl", 64, "position_sign='kept' against 'dropped'"),
    ("kimi-k25-time", dataclasses.replace(conventions["kimi-k25-time"], zero_rows=()), 64, "zeros at other positions"),
    ("transformer", Convention(odd="pad"), 65, "33 and 32 pairs .odd='truncate' against 'pad'"),
    ("transformer", Convention(odd="round-up"), 65, "odd='truncate' against 'round-up'.*pair 32 differs most"),
    (
        "transformer",
        Convention(order="cosine-first"),
        5,
        "cuts other columns off: the sine in column 4 of the source and 1 more have no counterpart",
    ),
    (SPLIT, dataclasses.replace(SPLIT, layout="halves"), 10, "cuts other columns off"),
    ("nerf", dataclasses.replace(conventions["nerf"], include_input="none"), 15, "one alone holds the position itself"),
    ("mae-2d", "transformer", 8, r"axes \(row, column\) and one axis"),
    ("nerf", "gligen-box", 24, r"\(x, y, z\) and axes \(x1, y1, x2, y2\).*as many axes"),
    ("mae-2d", "conditional-detr-coords", 8, r"\(row, column\) and axes \(x, y\).*source.replace\(axes="),
    ("mae-2d", "diffusers-2d", 16, r"cells of a map \(trained_size=None against 16\)"),
    ("sam2-2d", "deformable-detr-2d-normalized", 16, "cell_origin=1 against 0.5"),
    (
        "fairseq2-3d",
        dataclasses.replace(conventions["fairseq2-3d"], axis_shares=(1, 1, 2)),
        16,
        r"4 \+ 2 \+ 2 and 2 \+ 2 \+ 4 pairs \(axis_shares=",
    ),
    (
        conventions["sam"].with_frequencies(((1.0, 2.0), (3.0, 4.0))),
        dataclasses.replace(conventions["sam"].with_frequencies(((1.0,), (3.0,))), axis_layout="outer"),
        4,
        "one adds the angles of its axes",
    ),
    ("openai-whisper", "tensor2tensor", 7, "dim=7, but wanted an even width"),
    ("gaussian-fourier", "transformer", 8, "drawn at random or learned"),
    ("halves", "interleaved", 7, "7 columns to be laid out as interleaved, but wanted an even number"),
    (LEARNED, "transformer", 8, "4 of them at that width"),
    ("lex-glue-hierbert", "halves", 8, "pairing='columns'"),
    ("transformer", Convention(first=1e300, position_scale=1e300), 8, "which float64 holds"),
]


@pytest.mark.parametrize(("source", "target", "dim", "said"), REFUSED)
def test_refusal_says_why(source, target, dim, said):
    with pytest.raises(ConventionError, match=said) as caught:
        convert(torch.zeros(2, dim), source, target)

    assert "but wanted" in str(caught.value)
    assert "; " in str(caught.value)


def test_a_long_convention_is_named_in_short():
    one = Convention(spacing="explicit", frequencies=tuple(float(k) for k in range(1, 200)))
    with pytest.raises(ConventionError) as caught:
        convert(torch.zeros(398), one, dataclasses.replace(one, frequencies=one.frequencies[::-1], position_scale=2))

    assert len(str(caught.value)) < 700


X = torch.zeros(3, 8)
WRONG = [
    (([0.0] * 8, "transformer", "halves"), {}, DtypeError, "tensor of type list"),
    ((None, "transformer", "halves"), {}, DtypeError, "tensor of type NoneType"),
    ((X.to_sparse(), "transformer", "halves"), {}, DtypeError, "torch.sparse_coo"),
    ((torch.nested.nested_tensor([X], layout=torch.jagged), "transformer", "halves"), {}, DtypeError, "nested"),
    ((X, 3, "halves"), {}, DtypeError, "source=3 of type int"),
    ((X, "halves", None), {}, DtypeError, "target=None of type NoneType"),
    ((X, "halfs", "transformer"), {}, UnknownConventionError, "'halfs'"),
    ((X, "transformer", "interleave"), {}, UnknownConventionError, "'interleave'"),
    ((torch.tensor(0.0), "transformer", "halves"), {}, InputError, "at least one axis"),
    ((torch.zeros(3, 0), "transformer", "halves"), {}, InputError, "columns along it"),
    ((X, "transformer", "halves"), {"axis": 2}, InputError, "an axis from -2 to 1"),
    ((X, "transformer", "halves"), {"axis": -3}, InputError, "an axis from -2 to 1"),
    ((X, "transformer", "halves"), {"axis": 1.0}, DtypeError, "axis=1.0 of type float"),
    ((X, "transformer", "halves"), {"axis": True}, DtypeError, "axis=True of type bool"),
    ((X, "transformer", "halves"), {"heads": 3}, InputError, r"heads=3 with 8 columns along axis 1 of shape \(3, 8\)"),
    ((X, "transformer", "halves"), {"heads": 0}, InputError, "heads=0"),
    ((X, "transformer", "halves"), {"heads": -2}, InputError, "heads=-2"),
    ((X, "transformer", "halves"), {"heads": 2.0}, DtypeError, "heads=2.0 of type float"),
    ((X, "transformer", "halves"), {"heads": True}, DtypeError, "heads=True"),
    ((X, "halves", "interleaved"), {"rotary_dim": 10}, InputError, "an int from 1 to 8"),
    ((X, "halves", "interleaved"), {"heads": 2, "rotary_dim": 6}, InputError, "heads of 4 columns"),
    ((X, "halves", "interleaved"), {"rotary_dim": 0}, InputError, "rotary_dim=0"),
    ((X, "halves", "interleaved"), {"rotary_dim": 0.5}, DtypeError, "a number of columns, not a share"),
    ((X, "halves", "interleaved"), {"rotary_dim": 5}, ConventionError, "5 columns"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "said"), WRONG)
def test_wrong_arguments(arguments, options, error, said):
    with pytest.raises(error, match=said) as caught:
        convert(*arguments, **options)

    assert isinstance(caught.value, PosencError)


@pytest.mark.filterwarnings("ignore")
def test_quantised_values_are_refused():
    x = torch.quantize_per_tensor(X, 0.1, 0, torch.qint8)

    with pytest.raises(DtypeError, match=r"quantised.*convert before quantising"):
        convert(x, "transformer", "halves")

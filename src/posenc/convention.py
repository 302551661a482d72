"""The frozen record that describes an encoding, and the named table of real systems."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, get_args

from torch import Tensor

from .errors import ConventionError, DtypeError, UnknownConventionError, refuse
from .frequency import Ladder
from .layout import Columns, Layout, Order

Odd = Literal["truncate", "pad", "round-up", "refuse"]
Numbering = Literal["columns", "tokens"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "order": get_args(Order),
    "odd": get_args(Odd),
    "numbering": get_args(Numbering),
}
# The range of float64: checkpoints and configurations hold such numbers.
_LARGEST = 2.0**1023
_NUMBERS = ("base", "first", "endpoint_shift", "position_offset", "position_scale")


@dataclass(frozen=True, kw_only=True)
class Convention:
    """Everything that decides the values of a sinusoidal encoding, except the width.

    Pair k of n turns by frequency(k) = first * base^(-k / (span - endpoint_shift)) radians for each position,
    where span is dim / 2, and holds sin and cos of frequency(k) * position_scale * (position + position_offset).

    Args:
        base: ratio of the first frequency to the one at the end of the ladder.
        first: first frequency, in radians per position.
        endpoint_shift: 0 leaves the end of the ladder out, as in the paper; 1 takes it in, as in tensor2tensor.
        layout: "interleaved" (s c s c) or "halves" (s s c c).
        order: "sine-first" or "cosine-first".
        odd: what becomes of an odd width: "truncate" drops the last cosine and keeps the real dim / 2 in the
            ladder, "pad" adds a column of zeros, "round-up" cuts the encoding of dim + 1, "refuse" raises.
        position_offset: added to every position, as fairseq adds 2.
        position_scale: multiplies every position; may be negative.
        numbering: what counts as a position where a sequence is padded: its "columns", or only real "tokens".
        state_names: names under which checkpoints of the system hold the table, beside "pe".
        name: what to call it in messages; no part of equality.

    >>> Convention() == conventions["transformer"]
    True
    >>> Convention(base=500)
    Convention(base=500)
    """

    base: float = 10000
    first: float = 1
    endpoint_shift: float = 0
    layout: Layout = "interleaved"
    order: Order = "sine-first"
    odd: Odd = "truncate"
    position_offset: float = 0
    position_scale: float = 1
    numbering: Numbering = "columns"
    state_names: tuple[str, ...] = ()
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            value = getattr(self, option)
            if value not in choices:
                wanted = " or ".join(repr(choice) for choice in choices)
                refuse(f"{option}={value!r}", wanted, "choose one of these", error=ConventionError)
        for option in _NUMBERS:
            _check_number(option, getattr(self, option))
        for option in ("base", "first"):
            if getattr(self, option) <= 0:
                refuse(
                    f"{option}={getattr(self, option)!r}",
                    "a number above zero",
                    "leave it out for that of the paper",
                    error=ConventionError,
                )
        if not isinstance(self.state_names, tuple) or not all(isinstance(key, str) for key in self.state_names):
            refuse(
                f"state_names={self.state_names!r}",
                "a tuple of strings",
                'write it as ("weight",)',
                error=ConventionError,
            )

    def __repr__(self) -> str:
        # Only what differs from the paper: the shortest text that builds it again.
        said = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Convention({', '.join(said)})"

    @property
    def label(self) -> str:
        """The name, or the constructor line where there is none."""
        return repr(self.name) if self.name else repr(self)

    def columns(self, dim: int) -> Columns:
        """The columns of sines and cosines at this width. Raises `ConventionError` where the width does not fit."""
        return _plan(self, check_dim(dim))[0]

    def ladder(self, dim: int) -> Ladder:
        """The exact frequencies at this width. Raises `ConventionError` where the width does not fit."""
        return _plan(self, check_dim(dim))[1]


def _check_number(option: str, value: Any) -> None:
    kind = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not kind or not abs(value) < _LARGEST or (isinstance(value, float) and not math.isfinite(value)):
        said = (
            value
            if not isinstance(value, int) or isinstance(value, bool)
            else f"an int of {len(str(abs(value)))} digits"
        )
        wanted = f"a finite number below {_LARGEST:.3g}"
        refuse(f"{option}={said!r}", wanted, "pass an int or a float", error=ConventionError)
    if option == "position_offset" and abs(value) >= 2.0**63:
        refuse(f"{option}={value!r}", "a magnitude below 2^63", "positions are int64", error=ConventionError)
    if option == "position_scale" and value == 0:
        refuse(
            f"{option}={value!r}", "a number that is not zero", "use 1 for positions as they are", error=ConventionError
        )


def as_index(value: Any) -> int | None:
    """`value` as an int, where it is one: no bool, no array, no tensor."""
    if isinstance(value, (bool, Tensor)) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(value.__index__())
    except TypeError:
        return None


def check_dim(dim: Any, name: str = "dim") -> int:
    """`dim` as an int of at least 1, or an error that names the argument as the caller knows it."""
    value = as_index(dim)
    fix = f"pass the width of your embeddings, as in {name}=512"
    if value is None:
        refuse(f"{name}={dim!r} of type {type(dim).__name__}", "a positive int", fix, error=DtypeError)
    if value < 1:
        refuse(f"{name}={value}", "a positive int", fix)
    return value


@lru_cache(maxsize=256)
def _shared(ladder: Ladder) -> Ladder:
    """The first of all equal ladders: caches then compare objects, not fractions."""
    return ladder


@lru_cache(maxsize=256)
def _plan(convention: Convention, dim: int) -> tuple[Columns, Ladder]:
    if dim % 2 and convention.odd == "refuse":
        refuse(
            f"dim={dim}",
            f"an even width, which is all that {convention.label} knows",
            f"pass dim={dim + 1}, or a Convention with another rule for odd widths",
            error=ConventionError,
        )
    pairs = dim // 2 if convention.odd == "pad" else (dim + 1) // 2
    if not pairs:
        refuse(f"dim={dim}", "at least one pair of columns", "pass dim=2 or more", error=ConventionError)
    span = Fraction(dim, 2) if convention.odd == "truncate" else Fraction(pairs)
    # One pair has the first frequency, whatever the ladder; a shift of 1 would otherwise divide by zero.
    end = span - Fraction(convention.endpoint_shift) if pairs > 1 else Fraction(1)
    if end <= 0:
        refuse(
            f"endpoint_shift={convention.endpoint_shift} at dim={dim}",
            f"a shift below {span}, so that the ladder has a length",
            "pass a larger dim or a smaller endpoint_shift",
            error=ConventionError,
        )
    ladder = _shared(
        Ladder(
            pairs=pairs,
            base=Fraction(convention.base),
            span=end,
            first=Fraction(convention.first),
            scale=Fraction(convention.position_scale),
            offset=Fraction(convention.position_offset),
        )
    )
    return Columns(dim, pairs, convention.layout, convention.order), ladder


class _Conventions(Mapping[str, Convention]):
    """Name -> Convention. "_" may stand for "-"; aliases are found; iteration gives canonical names."""

    def __init__(self, table: Mapping[str, Convention], aliases: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._aliases = dict(aliases)

    def __getitem__(self, name: str) -> Convention:
        key = name.replace("_", "-") if isinstance(name, str) else name
        key = self._aliases.get(key, key)
        if key in self._table:
            return self._table[key]
        known = [*self._table, *self._aliases]
        near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
        fix = f"did you mean {near[0]!r}?" if near else "pass a Convention for anything else."
        raise UnknownConventionError(f"got convention {name!r}, but wanted one of {', '.join(self._table)}; {fix}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"conventions({', '.join(self._table)})"


def _named(name: str, **options: Any) -> Convention:
    return Convention(name=name, **options)


# Values: tests/data/systems holds what each of these put out, with version and source.
conventions: Mapping[str, Convention] = _Conventions(
    {
        convention.name or "": convention
        for convention in (
            # Vaswani et al. 2017, section 3.5; harvardnlp/annotated-transformer; pytorch/examples.
            _named("transformer"),
            # tensorflow/tensor2tensor, common_attention.get_timing_signal_1d.
            _named("tensor2tensor", endpoint_shift=1, layout="halves", odd="pad"),
            # facebookresearch/fairseq, sinusoidal_positional_embedding: positions start at padding_idx + 1 = 2.
            _named("fairseq", endpoint_shift=1, layout="halves", odd="pad", position_offset=2, numbering="tokens"),
            # Hugging Face MarianMTModel, and Pegasus, Informer, Autoformer, RoFormer.
            _named("marian", layout="halves", state_names=("weight",)),
            # openai/whisper, model.sinusoids.
            _named(
                "openai-whisper",
                endpoint_shift=1,
                layout="halves",
                odd="refuse",
                state_names=("positional_embedding",),
            ),
            # Hugging Face MusicgenSinusoidalPositionalEmbedding.
            _named("musicgen", endpoint_shift=1, layout="halves", order="cosine-first", odd="pad"),
            # diffusers get_timestep_embedding as Stable Diffusion calls it: flip_sin_to_cos, downscale_freq_shift 0.
            _named("stable-diffusion-timestep", layout="halves", order="cosine-first", odd="pad"),
            # tatp22/multidim-positional-encoding, PositionalEncoding1D.
            _named("positional-encodings", odd="round-up", state_names=("inv_freq",)),
        )
    },
    {
        "annotated-transformer": "transformer",
        "pytorch-word-language-model": "transformer",
        "pytorch-lm-tutorial": "transformer",
        "tensor2tensor-timing-signal-1d": "tensor2tensor",
        "fairseq-sinusoidal": "fairseq",
        "hf-marian": "marian",
        "hf-musicgen": "musicgen",
        "diffusers-timestep-sd": "stable-diffusion-timestep",
        "positional-encodings-1d": "positional-encodings",
    },
)


def resolve(convention: str | Convention) -> Convention:
    """The convention of a name, or the convention itself.

    >>> resolve("openai_whisper").layout
    'halves'
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        refuse(
            f"convention={convention!r} of type {type(convention).__name__}",
            "a name or a Convention",
            'leave it out for the encoding of the paper, "transformer"',
            error=DtypeError,
        )
    return conventions[convention]

"""The scaling dictionaries that Hugging Face configurations carry, old spelling and new, read into a `Stretch`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ..errors import ConventionError, refuse, shown
from ..frequency import Stretch, is_number
from .arguments import as_index

_EVERY = (
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "max_position_embeddings", "mrope_section",
    "mrope_interleaved",
)  # fmt: skip
# What each kind knows beside these.
_FIELDS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_max_position_embeddings"),
    "yarn": (
        "factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
        "mscale", "mscale_all_dim", "truncate",
    ),
    "longrope": ("factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
    "proportional": ("factor",),
}  # fmt: skip
_OLD_NAMES = {"su": "longrope", "mrope": "default"}
_KNOWN = {*_EVERY, *(name for names in _FIELDS.values() for name in names)}
_AS_IT_IS = "pass it as the model's configuration has it"


@dataclass(frozen=True)
class Scaling:
    """A scaling dictionary, read: the rule, what cosine and sine are multiplied by, and what else it fixes."""

    stretch: Stretch | None = None
    attention_factor: float = 1.0
    base: float | None = None
    fraction: float | None = None
    sections: tuple[int, ...] | None = None


def _wrong(got: str, wanted: str, fix: str) -> NoReturn:
    refuse(got, wanted, fix, error=ConventionError)


def read_scaling(given: Any, head_dim: int) -> Scaling:
    """A `rope_scaling` or `rope_parameters` dictionary, for heads of this width.

    The configuration's `rope_theta`, `max_position_embeddings` and `partial_rotary_factor` may stand in it.
    Unknown and missing fields are refused, never guessed; where there is one length, it is that of training.

    Source: transformers' modeling_rope_utils, 5.24.0.

    >>> read_scaling({"type": "linear", "factor": 4.0}, 8).stretch
    Stretch(kind='linear', factor=4.0)
    """
    if not isinstance(given, Mapping):
        _wrong(
            f"scaling of type {type(given).__name__}",
            "a dictionary",
            "pass rope_parameters or rope_scaling of the model's configuration",
        )
    nested = [name for name, value in given.items() if isinstance(value, Mapping)]
    if nested:
        _wrong(
            f"scaling with a dictionary for each of {', '.join(map(repr, nested))}",
            "one dictionary: these layers differ",
            f"build one RotaryEmbedding for each kind of layer, as with scaling[{nested[0]!r}]",
        )
    for name, value in given.items():
        if value is None and name not in _KNOWN:
            _wrong(
                f"scaling with nothing for {name!r}",
                "a dictionary: layers of that kind may have no rotary embedding at all",
                "build none for them, or pass scaling=None if you are sure that they turn by the plain ladder",
            )
    options = {name: value for name, value in given.items() if value is not None}
    kind = _kind(options)
    known = (*_EVERY, *_FIELDS[kind])
    for name in options:
        if name not in known:
            _wrong(
                f"scaling with {name!r}",
                f"fields of kind {kind!r}: {', '.join(known)}",
                "remove it, if you are sure that it changes no angle",
            )
    return _READERS[kind](options, head_dim)


def _kind(options: Mapping[str, Any]) -> str:
    said = {name: options[name] for name in ("rope_type", "type") if name in options}
    kinds = {_OLD_NAMES.get(kind, kind) if isinstance(kind, str) else shown(kind) for kind in said.values()}
    if len(kinds) > 1:
        _wrong(
            f"scaling of {' and '.join(f'{n}={shown(k)}' for n, k in said.items())}", "one kind", "remove one of them"
        )
    kind: str = kinds.pop() if kinds else "default"
    if kind not in _FIELDS:
        _wrong(
            f"scaling of kind {kind!r}",
            f"one of {', '.join(_FIELDS)}",
            "for another rule pass a Convention with the frequencies themselves, spacing='explicit'",
        )
    return kind


def _number(options: Mapping[str, Any], name: str, default: float | None = None) -> float:
    value = options.get(name, default)
    if value is None:
        _wrong(f"scaling without {name!r}", "every number of its kind", _AS_IT_IS)
    if not is_number(value) or value <= 0:
        _wrong(f"{name}={shown(value)}", "a number above zero", _AS_IT_IS)
    return float(value)


def _said(options: Mapping[str, Any], name: str) -> float | None:
    """A number of YaRN, or None; zero says as little as nothing does, since transformers asks for its truth."""
    value = options.get(name)
    return None if value is None or (is_number(value) and value == 0) else _number(options, name)


def _length(options: Mapping[str, Any], *names: str) -> int:
    """The first of these fields that is there."""
    for name in names:
        if name in options:
            value = as_index(options[name])
            if value is None or not 1 <= value < 1 << 63:
                _wrong(f"{name}={shown(options[name])}", "a length above zero", "pass the length of training")
            return value
    _wrong(f"scaling without {names[0]!r}", "the length of training", "take it from the model's configuration")


def _factors(options: Mapping[str, Any], name: str) -> tuple[float, ...]:
    value = options.get(name)
    if not isinstance(value, (list, tuple)):
        _wrong(f"{name}={shown(value):.80}", "a list of numbers, one a pair", _AS_IT_IS)
    return tuple(value)


def _sections(options: Mapping[str, Any]) -> tuple[int, ...] | None:
    given = options.get("mrope_section")
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or not all((as_index(n) or 0) > 0 for n in given):
        _wrong(f"mrope_section={shown(given)}", "a list of positive ints", _AS_IT_IS)
    return tuple(int(n) for n in given)


def _read(
    options: Mapping[str, Any], stretch: Stretch | None, attention: float = 1.0, *, whole: bool = False
) -> Scaling:
    """What all kinds have; `whole` where the fraction of a head is part of the rule."""
    if "max_position_embeddings" in options:
        # Not every kind computes with it, but what is no length is a mistake in all.
        _length(options, "max_position_embeddings")
    if options.get("mrope_interleaved", False) is not False:
        got = f"mrope_interleaved={shown(options['mrope_interleaved'])}"
        _wrong(got, "false: the pairs of each axis side by side", "take another rotary embedding for this model")
    base = _number(options, "rope_theta") if "rope_theta" in options else None
    fraction = _fraction(options) if "partial_rotary_factor" in options and not whole else None
    return Scaling(stretch, attention, base, fraction, _sections(options))


def _fraction(options: Mapping[str, Any]) -> float:
    value = _number(options, "partial_rotary_factor", 1.0)
    if value > 1:
        _wrong(f"partial_rotary_factor={value!r}", "a fraction of a head, at most 1", _AS_IT_IS)
    return value


def _default(options: Mapping[str, Any], _: int) -> Scaling:
    return _read(options, None)


def _linear(options: Mapping[str, Any], _: int) -> Scaling:
    return _read(options, Stretch(kind="linear", factor=_number(options, "factor")))


def _dynamic(options: Mapping[str, Any], _: int) -> Scaling:
    trained = _length(options, "max_position_embeddings", "original_max_position_embeddings")
    return _read(options, Stretch(kind="dynamic", factor=_number(options, "factor"), trained=trained))


def _yarn(options: Mapping[str, Any], _: int) -> Scaling:
    trained = _trained(options)
    factor = _factor_or_ratio(options, trained)
    whole = options.get("truncate", True)
    if not isinstance(whole, bool):
        _wrong(f"truncate={shown(whole)}", "true or false", _AS_IT_IS)
    rule = Stretch(
        kind="yarn",
        factor=factor,
        trained=trained,
        fast=_said(options, "beta_fast") or 32.0,
        slow=_said(options, "beta_slow") or 1.0,
        ramp="whole" if whole else "real",
    )
    return _read(options, rule, _yarn_attention(options, factor))


def _yarn_attention(options: Mapping[str, Any], factor: float) -> float:
    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0

    if "attention_factor" in options:
        return _number(options, "attention_factor")
    # As transformers do: the ratio where both fields are there and not zero, else the plain rule.
    one, other = _said(options, "mscale"), _said(options, "mscale_all_dim")
    return scale(one) / scale(other) if one and other else scale(1.0)


def _longrope(options: Mapping[str, Any], _: int) -> Scaling:
    trained = _trained(options)
    short, long = _factors(options, "short_factor"), _factors(options, "long_factor")
    rule = Stretch(kind="longrope", trained=trained, short=short, long=long)
    if "attention_factor" in options:
        return _read(options, rule, _number(options, "attention_factor"))
    factor = _factor_or_ratio(options, trained)
    if factor < 1 and "factor" in options:
        # A ratio may be below 1, where a model was cut down to shorter contexts.
        _wrong(f"factor={factor!r}", "a factor of at least 1", _AS_IT_IS)
    if factor > 1 and trained == 1:
        _wrong("original_max_position_embeddings=1", "a length of at least 2", "pass attention_factor too")
    return _read(options, rule, math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0)


def _trained(options: Mapping[str, Any]) -> int:
    """The length of training; where no other is said, the only one that there is, as transformers fill it in."""
    return _length(options, "original_max_position_embeddings", "max_position_embeddings")


def _factor_or_ratio(options: Mapping[str, Any], trained: int) -> float:
    """How many times longer contexts become: said, or the ratio of the two lengths."""
    if "factor" in options:
        return _number(options, "factor")
    if "max_position_embeddings" not in options:
        _wrong(
            "scaling without 'factor' and 'max_position_embeddings'",
            "one of them: without a factor it is the ratio of two lengths",
            "add max_position_embeddings, which stands beside rope_parameters in the model's configuration",
        )
    return _length(options, "max_position_embeddings") / trained


def _llama3(options: Mapping[str, Any], _: int) -> Scaling:
    rule = Stretch(
        kind="llama3",
        factor=_number(options, "factor"),
        trained=_trained(options),
        low=_number(options, "low_freq_factor"),
        high=_number(options, "high_freq_factor"),
    )
    return _read(options, rule)


def _proportional(options: Mapping[str, Any], head_dim: int) -> Scaling:
    # The pairs beyond the fraction do not turn, but belong to the ladder.
    turning = int(_fraction(options) * head_dim // 2)
    rule = Stretch(kind="proportional", factor=_number(options, "factor", 1.0), turning=turning)
    return _read(options, rule, whole=True)


_READERS = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}

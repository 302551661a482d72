"""The scaling dictionaries that Hugging Face configurations carry, old spelling and new, read into a `Stretch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..arguments.numbers import as_index
from ..errors import shown
from ..frequency import AS_IT_IS, RULES, Fields, Stretch, StretchKind, wrong

_EVERY = (
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "max_position_embeddings", "mrope_section",
    "mrope_interleaved",
)  # fmt: skip
# What each kind knows beside these: the rules that configurations spell.
_FIELDS: dict[str, tuple[str, ...]] = {"default": (), **{k: rule.fields for k, rule in RULES.items() if rule.read}}
_OLD_NAMES = {"su": "longrope", "mrope": "default"}
_KNOWN = {*_EVERY, *(name for names in _FIELDS.values() for name in names)}


@dataclass(frozen=True)
class Scaling:
    """A scaling dictionary, read: the rule, what cosine and sine are multiplied by, and what else it fixes."""

    stretch: Stretch | None = None
    attention_factor: float = 1.0
    base: float | None = None
    fraction: float | None = None
    sections: tuple[int, ...] | None = None


def read_scaling(given: Any, head_dim: int) -> Scaling:
    """A `rope_scaling` or `rope_parameters` dictionary, for heads of this width.

    The configuration's `rope_theta`, `max_position_embeddings` and `partial_rotary_factor` may stand in it.
    Unknown and missing fields are refused, never guessed; where there is one length, it is that of training.

    Source: transformers' modeling_rope_utils, 5.24.0.

    >>> read_scaling({"type": "linear", "factor": 4.0}, 8).stretch
    Stretch(kind='linear', factor=4.0)
    """
    if not isinstance(given, Mapping):
        wrong(
            f"scaling of type {type(given).__name__}",
            "a dictionary",
            "pass rope_parameters or rope_scaling of the model's configuration",
        )
    nested = [name for name, value in given.items() if isinstance(value, Mapping)]
    if nested:
        wrong(
            f"scaling with a dictionary for each of {', '.join(map(repr, nested))}",
            "one dictionary: these layers differ",
            f"build one RotaryEmbedding for each kind of layer, as with scaling[{nested[0]!r}]",
        )
    for name, value in given.items():
        if value is None and name not in _KNOWN:
            wrong(
                f"scaling with nothing for {name!r}",
                "a dictionary: layers of that kind may have no rotary embedding at all",
                "build none for them, or pass scaling=None if you are sure that they turn by the plain ladder",
            )
    options = {name: value for name, value in given.items() if value is not None}
    kind = _kind(options)
    known = (*_EVERY, *_FIELDS[kind])
    for name in options:
        if name not in known:
            wrong(
                f"scaling with {name!r}",
                f"fields of kind {kind!r}: {', '.join(known)}",
                "remove it, if you are sure that it changes no angle",
            )
    return _read(kind, Fields(options), head_dim)


def _kind(options: Mapping[str, Any]) -> str:
    said = {name: options[name] for name in ("rope_type", "type") if name in options}
    kinds = {_OLD_NAMES.get(kind, kind) if isinstance(kind, str) else shown(kind) for kind in said.values()}
    if len(kinds) > 1:
        wrong(
            f"scaling of {' and '.join(f'{n}={shown(k)}' for n, k in said.items())}", "one kind", "remove one of them"
        )
    kind: str = kinds.pop() if kinds else "default"
    if kind not in _FIELDS:
        wrong(
            f"scaling of kind {kind!r}",
            f"one of {', '.join(_FIELDS)}",
            "for another rule pass a Convention with the frequencies themselves, spacing='explicit'",
        )
    return kind


def _sections(options: Mapping[str, Any]) -> tuple[int, ...] | None:
    given = options.get("mrope_section")
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or not all((as_index(n) or 0) > 0 for n in given):
        wrong(f"mrope_section={shown(given)}", "a list of positive ints", AS_IT_IS)
    return tuple(int(n) for n in given)


def _read(kind: str, fields: Fields, head_dim: int) -> Scaling:
    rule = RULES.get(kind)
    stretch, attention = None, 1.0
    if rule is not None and rule.read is not None:
        numbers, attention = rule.read(fields, head_dim)
        stretch = Stretch(kind=cast(StretchKind, kind), **numbers)
    if "max_position_embeddings" in fields:
        # Not every kind computes with it, but what is no length is a mistake in all.
        fields.length("max_position_embeddings")
    if fields.options.get("mrope_interleaved", False) is not False:
        got = f"mrope_interleaved={shown(fields.options['mrope_interleaved'])}"
        wrong(got, "false: the pairs of each axis side by side", "take another rotary embedding for this model")
    base = fields.number("rope_theta") if "rope_theta" in fields else None
    is_apart = "partial_rotary_factor" in fields and not (rule and rule.whole_head)
    return Scaling(stretch, attention, base, fields.fraction() if is_apart else None, _sections(fields.options))

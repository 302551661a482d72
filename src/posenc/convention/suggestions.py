"""What to say to somebody who typed a name that is not there: names near it, and what well-known models use."""

from __future__ import annotations

import difflib
import importlib.resources
import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

# Where names of a family are taken, as a caller writes it.
_DOORS = {
    "additive": "posenc.PositionalEncoding(dim, convention={name!r})",
    "map": "posenc.grid(sizes, dim, {name!r})",
    "timestep": "posenc.TimestepEmbedding(dim, {name!r})",
    "rotary": "posenc.RotaryEmbedding(dim, {name!r})",
}
_ROTARY_ADVICE = (
    "with base, scaling and rotary_dim from the model's configuration: its rope_theta, rope_scaling and "
    "partial_rotary_factor, or in older ones rotary_emb_base, rotary_pct or rotary_dim"
)
SHOWN = 3
_CUTOFF = 0.5


def door(family: str, name: str) -> str:
    """The call that takes names of a family.

    >>> door("map", "mae-2d")
    "posenc.grid(sizes, dim, 'mae-2d')"
    """
    return _DOORS[family].format(name=name)


def key_of(name: str) -> str:
    """A name without what people write in many ways.

    >>> key_of("GPT-J"), key_of("gpt_j")
    ('gptj', 'gptj')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _beginnings(typed: str) -> list[str]:
    """A name, the same without its last word, and so on; what stands before a slash is the publisher of a model."""
    name = typed.rpartition("/")[2]
    return [name[: word.end()] for word in re.finditer(r"[A-Za-z0-9]+", name)][::-1]


@lru_cache(maxsize=1)
def _asked() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """What people type -> family -> name, and -> sentence."""
    said = tomllib.loads((importlib.resources.files(__package__) / "asked.toml").read_text("utf-8"))
    names: dict[str, dict[str, str]] = {}
    for family, rows in said["names"].items():
        for name, every in rows.items():
            for typed in every:
                names.setdefault(typed, {})[family] = name
    return names, {typed: sentence for sentence, every in said["sentences"].items() for typed in every}


def meant(typed: str, known: Iterable[str]) -> list[str]:
    """Names that are what was typed, written otherwise or with fewer words, or that have all of its words.

    >>> meant("GPT_J-6B", ["gptj-rotary", "gpt-j"]), meant("DDPM", ["dit-timestep", "ddpm-timestep"])
    (['gpt-j'], ['ddpm-timestep'])
    """
    keys = {name: key_of(name) for name in known}
    for beginning in _beginnings(typed):
        found = [name for name, key in keys.items() if key == key_of(beginning)]
        if found:
            return found
        known_as = _asked()[0].get(key_of(beginning), {})
        if known_as or key_of(beginning) in _asked()[1]:
            # Better known than any name that begins so.
            return [name for name in keys if name in known_as.values()]
    words = set(_words(typed))
    return [name for name in keys if words and words <= set(_words(name))]


def written_otherwise(typed: str, known: Iterable[str]) -> list[str]:
    """Names that are what was typed but for case and hyphens.

    >>> written_otherwise("GPT-J", ["gptj-rotary", "gpt-j", "gptj"])
    ['gpt-j', 'gptj']
    """
    return [name for name in known if key_of(name) == key_of(typed)]


def alike(typed: str, known: Iterable[str]) -> list[str]:
    """Names that look like what was typed, the likeliest first.

    >>> alike("fairsq", ["fairseq", "marian"])
    ['fairseq']
    """
    by_key: dict[str, str] = {}
    for name in known:
        by_key.setdefault(key_of(name), name)
    return [by_key[key] for key in difflib.get_close_matches(key_of(typed), by_key, n=SHOWN, cutoff=_CUTOFF)]


def asked_for(typed: str, family: str | None) -> str:
    """What a well-known model uses, told to a door of this family, None for all of them; '' for other names.

    >>> asked_for("bloom-560m", None)
    'bloom uses a bias: AlibiBias'
    >>> asked_for("SDXL", "timestep")
    "for SDXL take posenc.TimestepEmbedding(dim, 'stable-diffusion-timestep')"
    """
    names, sentences = _asked()
    for beginning in _beginnings(typed):
        key = key_of(beginning)
        by_family = names.get(key, {})
        if family in by_family:
            return _told(beginning, family, by_family[family])
        if key in sentences:
            return f"{beginning} {sentences[key]}"
        if by_family:
            return "; ".join(_told(beginning, other, name) for other, name in by_family.items())
    return ""


def _told(typed: str, family: Any, name: str) -> str:
    advice = f" {_ROTARY_ADVICE}" if family == "rotary" else ""
    return f"for {typed} take {door(family, name)}{advice}"

"""What to pass to a rotary module whose frequencies are not those of a checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from ..convention import Convention
from ..frequency import RULES, Stretch
from ..identification import identify
from ..identification.match import written

_FROM_CONFIGURATION = (
    "pass base=rope_theta and scaling=rope_scaling of the model's configuration; "
    "where the frequencies were trained, pass a posenc.Convention with_frequencies of them, "
    "and where they were damaged, remove the key"
)


def advice_for(values: Tensor | None, convention: Convention) -> str:
    """What to pass instead, as far as the frequencies (pairs,) of the checkpoint tell."""
    match = identify(values)[0] if values is not None else None
    if match is None or match.convention is None or not match.is_ladder or match.kind not in ("named", "fitted"):
        return _FROM_CONFIGURATION
    found = match.convention
    rule = found.stretch
    # A ladder that is linearly scaled is one whose first frequency is divided.
    if rule is None and 0 < found.first < 1:
        rule = Stretch(kind="linear", factor=1 / found.first)
    if _is_plain(found) and _is_plain(convention) and convention.first == 1:
        base = _number(found.base)
        if rule is None and found.first == 1:
            return f"pass base={base}"
        written_as = RULES[rule.kind].written if rule is not None else None
        if rule is not None and written_as is not None:
            said = {name: _number(value) for name, value in written_as(rule).items()}
            return f"pass scaling={ {'rope_type': rule.kind, 'rope_theta': base, **said} }"
    return f"pass rotary={written(replace(found, layout=convention.layout, rotary_dim=convention.rotary_dim))}"


def _is_plain(convention: Convention) -> bool:
    """Whether a base says all, but for the first frequency and a rule."""
    geometric = convention.spacing == "geometric" and convention.last is None and not convention.endpoint_shift
    return geometric and convention.position_scale == 1 and convention.position_offset == 0 and not convention.axes


def _number(value: float) -> Any:
    """A number as a reader would write it."""
    return int(value) if value == int(value) and abs(value) < 1e15 else value

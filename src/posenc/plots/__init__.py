"""Pictures of encodings: each function returns a matplotlib figure of its own; matplotlib is an extra.

Nothing is loaded before it is asked for, so that a notebook may learn of its pictures while torch is not there yet.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accuracy import accuracy_figure as accuracy_figure
    from .comparison import compare as compare
    from .dials import clocks as clocks
    from .directions import spectrum as spectrum
    from .errors_of import error as error
    from .files import can_draw as can_draw
    from .files import is_ours as is_ours
    from .files import save as save
    from .likeness import similarity as similarity
    from .likeness import similarity_matrix as similarity_matrix
    from .rows import heat_map as heat_map
    from .turns import wavelengths as wavelengths
    from .wave_lines import waves as waves

_HOMES = {
    "accuracy_figure": "accuracy",
    "can_draw": "files",
    "clocks": "dials",
    "compare": "comparison",
    "error": "errors_of",
    "heat_map": "rows",
    "is_ours": "files",
    "save": "files",
    "similarity": "likeness",
    "similarity_matrix": "likeness",
    "spectrum": "directions",
    "wavelengths": "turns",
    "waves": "wave_lines",
}

__all__ = [
    "accuracy_figure",
    "can_draw",
    "clocks",
    "compare",
    "error",
    "heat_map",
    "is_ours",
    "save",
    "similarity",
    "similarity_matrix",
    "spectrum",
    "wavelengths",
    "waves",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'posenc.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)

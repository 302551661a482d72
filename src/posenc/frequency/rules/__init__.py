"""Every rule that stretches a ladder, by its kind: a new one is a file here, and a line below."""

from .grown_base import DYNAMIC, NTK
from .linear import LINEAR
from .llama3 import LLAMA3
from .longrope import LONGROPE
from .proportional import PROPORTIONAL
from .record import Rule
from .yarn import YARN

RULES: dict[str, Rule] = {
    "linear": LINEAR,
    "ntk": NTK,
    "dynamic": DYNAMIC,
    "yarn": YARN,
    "longrope": LONGROPE,
    "llama3": LLAMA3,
    "proportional": PROPORTIONAL,
}

__all__ = ["RULES", "Rule"]

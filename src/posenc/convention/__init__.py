"""The frozen record that describes an encoding, and the named table of real systems."""

from .arguments import WIDEST, check_dim
from .bearers import own_names
from .fitting import fitting_dim
from .names import FAMILIES, SUBJECTS, Family, System, conventions, not_a_convention, resolve, systems
from .plan import Block, Plan
from .record import Convention

own_names({name: system.convention for system in systems.values() for name in (system.name, *system.aliases)})

__all__ = [
    "FAMILIES",
    "SUBJECTS",
    "WIDEST",
    "Block",
    "Convention",
    "Family",
    "Plan",
    "System",
    "check_dim",
    "conventions",
    "fitting_dim",
    "not_a_convention",
    "resolve",
    "systems",
]

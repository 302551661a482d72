"""Every cache of the core, emptied or measured: so that a test begins where a fresh process does."""

import torch

from posenc import frequency
from posenc.convention import plan, record
from posenc.encoding import general, rotation
from posenc.encoding.angles import ANGLES
from posenc.modules.beyond import BLOCKS
from posenc.modules.constant import NUMBERS
from posenc.phase import STEPS
from posenc.trig import exact
from posenc.trig.certify import CERTIFIED
from posenc.trig.rows import ROWS

# Every store of tensors, and what is known of tables.
BOUNDED = {
    "steps": STEPS,
    "rows": ROWS,
    "repairs": CERTIFIED,
    "blocks": BLOCKS,
    "turns": ANGLES,
    "numbers": NUMBERS,
}


def forget() -> None:
    """Drop every value that the core keeps between calls."""
    for cache in BOUNDED.values():
        cache.clear()
    for function in (
        record._plan,
        general._moments,
        rotation._rotation,
        plan.shared,
        frequency.pi_scaled,
        exact._precise_step,
    ):
        function.cache_clear()


def bytes_in(value: object) -> int:
    """The bytes of all tensors in a value, however they are wrapped."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        return sum(map(bytes_in, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_in, value))
    return bytes_in(vars(value)) if hasattr(value, "__dict__") else 0


def held_bytes() -> dict[str, int]:
    """What the bounded caches hold in truth, whatever they say."""
    return {name: sum(bytes_in(value) for value, _ in cache._entries.values()) for name, cache in BOUNDED.items()}

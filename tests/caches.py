"""Every cache of the core, emptied or measured: so that a test begins where a fresh process does."""

from posenc import convention, frequency, phase
from posenc.trig import exact
from posenc.trig.rows import ROWS
from posenc.trig.tabulate import CERTIFIED


def forget() -> None:
    """Drop every value that the core keeps between calls."""
    ROWS.clear()
    CERTIFIED.clear()
    for function in (phase._step_limbs, convention._plan, frequency.pi_scaled, exact._precise_step):
        function.cache_clear()


def held_bytes() -> dict[str, int]:
    """What the two bounded caches hold in truth, whatever they say."""
    rows = sum(value.numel() * value.element_size() for value, _ in ROWS._entries.values())
    repairs = 0
    for kept, _ in CERTIFIED._entries.values():
        for decided in filter(None, kept.values()):
            where, values = decided
            repairs += sum(tensor.numel() * tensor.element_size() for tensor in (*where, values))
    return {"rows": rows, "repairs": repairs}

"""Times candidates in turn, and judges ratios of medians against bars."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

REPEATS = 11


@dataclass(frozen=True)
class Times:
    """Milliseconds of one candidate: the median, and half the distance of the quartiles as a part of it."""

    median: float
    noise: float


def alternate(
    candidates: Mapping[str, Callable[[], Any]], *, repeats: int = REPEATS, calls: int = 1, warm: int = 2
) -> dict[str, Times]:
    """Run every candidate once in each round, so that whatever disturbs the machine disturbs all alike.

    A result is freed before the next one is made, outside the time.
    """
    for _ in range(warm):
        for run in candidates.values():
            run()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, run in candidates.items():
            started = time.perf_counter()
            for _ in range(calls):
                result = run()
            taken[name].append((time.perf_counter() - started) * 1e3 / calls)
            del result
    return {name: _times(values) for name, values in taken.items()}


def _times(values: list[float]) -> Times:
    low, median, high = statistics.quantiles(values, n=4)
    return Times(median, (high - low) / 2 / median)


def at_most(bar: float, ours: Times, other: Times, *, noise: str = "counts") -> tuple[str, str, str]:
    """Ratio, bar and verdict, where our time should be at most `bar` times the other."""
    ratio = ours.median / other.median
    slack = 1 + max(ours.noise, other.noise) if noise == "aside" else 1
    said = f"at most {bar:g} x" + (f" (noise {slack - 1:.0%})" if noise == "aside" else "")
    return f"{ratio:.2f} x", said, "met" if ratio <= bar * slack else "NOT MET"


def faster(bar: float, ours: Times, other: Times) -> tuple[str, str, str]:
    """Ratio, bar and verdict, where we should be at least `bar` times faster."""
    ratio = other.median / ours.median
    said = f"{ratio:.2f} x faster" if ratio >= 1 else f"{ratio:.2f} x as fast"
    return said, f"at least {bar:g} x", "met" if ratio >= bar else "NOT MET"


def row(name: str, ours: Times, other: Times, verdict: tuple[str, str, str]) -> list[str]:
    """One line of the table."""
    return [name, duration(ours.median), duration(other.median), *verdict]


def duration(milliseconds: float) -> str:
    """A time with three digits and the unit that suits it."""
    return f"{milliseconds:.3g} ms" if milliseconds >= 1 else f"{milliseconds * 1e3:.3g} us"


HEADER = ["", "posenc", "other", "ratio", "bar", ""]


def show(title: str, rows: list[list[str]], header: list[str] | None = None) -> None:
    """Print a title and a table, the first column at the left, the others at the right."""
    lines = [header or HEADER, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    print(f"\n{title}\n")
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(n) for cell, n in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())


def show_machine() -> None:
    """Print what the numbers were measured on, and whether it had anything else to do."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    print(
        f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}; torch {torch.__version__}, ",
        end="",
    )
    print(f"{torch.get_num_threads()} threads; load {os.getloadavg()[0]:.1f}")
    if os.getloadavg()[0] > 1:
        print("Something else is running: do not trust these times.")


def version_of(package: str) -> str | None:
    """The version of a peer, None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None

"""What a fresh interpreter takes: time to import, time to help, memory for rows of a huge encoding."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from _measure import show, show_machine

STARTS = 9
ROWS, WIDTH = 1 << 20, 4096
ASKED = 1 << 14


# What ours takes once torch is there, in milliseconds.
LAYER = """
import time, torch
started = time.perf_counter()
import posenc
posenc.PositionalEncoding
print((time.perf_counter() - started) * 1e3)
"""
# Whether torch is there after the help was printed.
SEEN = """
import atexit, runpy, sys
sys.argv = ["posenc", "--help"]
atexit.register(lambda: print("torch" in sys.modules, file=sys.stderr))
runpy.run_module("posenc", run_name="__main__")
"""


def fresh(*arguments: str) -> str:
    """What a fresh interpreter prints."""
    # Installed modules are compiled ones: without this, only ours would be compiled at every start.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def help_time() -> float:
    """Seconds of `posenc --help`."""
    started = time.perf_counter()
    fresh("-m", "posenc", "--help")
    return time.perf_counter() - started


def start_rows() -> list[list[str]]:
    """What starting costs, once the compiled modules are there."""
    fresh("-c", LAYER)
    more = statistics.median(float(fresh("-c", LAYER)) for _ in range(STARTS))
    shown = statistics.median(help_time() for _ in range(STARTS))
    said = subprocess.run([sys.executable, "-c", SEEN], check=True, capture_output=True, text=True).stderr
    is_lazy = said.split() == ["False"]
    return [
        [
            "import posenc and its layer, after import torch",
            f"{more:.0f} ms",
            "at most 60 ms",
            "met" if more <= 60 else "NOT MET",
        ],
        [
            f"posenc --help, torch {'not ' if is_lazy else ''}imported",
            f"{shown:.2f} s",
            "under 0.5 s",
            "met" if shown < 0.5 and is_lazy else "NOT MET",
        ],
    ]


MEMORY = f"""
import resource, torch, posenc
positions = torch.randperm({ROWS}, generator=torch.Generator().manual_seed(0))[:{ASKED}]
torch.ones(256, {WIDTH}) + 1
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    # What is in use now: the peak of importing may lie above it.
    before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 1024
except OSError:
    before = peak()
for some in positions.split(256):
    posenc.encode(some, {WIDTH})
print(peak() - before)
"""


def memory_row() -> list[str]:
    """What rows in any order take, beside the table that is never made."""
    done = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True)
    used, whole = int(done.stdout) / 1024, ROWS * WIDTH * 4 / 2**20
    name = f"{ASKED} rows of a 2^20 x {WIDTH} encoding, in random order"
    return [
        name,
        f"{used:.0f} MiB",
        f"under {whole / 100:.0f} MiB",
        "met" if used < whole / 100 else "NOT MET",
    ]


def main() -> None:
    """Measure and print; a bar that is not met is said, and is no failure."""
    show_machine()
    show(f"start, median of {STARTS}, and memory", [*start_rows(), memory_row()], ["", "measured", "bar", ""])


if __name__ == "__main__":
    main()

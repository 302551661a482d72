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


IMPORTS = {
    "torch": ["-c", "import torch"],
    "layer": ["-c", "import torch, posenc; posenc.PositionalEncoding"],
    "help": ["-m", "posenc", "--help"],
}
# Whether torch is there after the help was printed.
SEEN = """
import atexit, runpy, sys
sys.argv = ["posenc", "--help"]
atexit.register(lambda: print("torch" in sys.modules, file=sys.stderr))
runpy.run_module("posenc", run_name="__main__")
"""


def start_times() -> dict[str, float]:
    """Median seconds of fresh interpreters, run in turn, once the compiled modules are there."""
    # Installed modules are compiled ones: without this, only ours would be compiled at every start.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    taken: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for turn in range(STARTS + 1):
        for name, arguments in IMPORTS.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
            if turn:
                taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in taken.items()}


def start_rows() -> list[list[str]]:
    """What starting costs."""
    times = start_times()
    more = (times["layer"] - times["torch"]) * 1e3
    said = subprocess.run([sys.executable, "-c", SEEN], check=True, capture_output=True, text=True).stderr
    is_lazy = said.split() == ["False"]
    return [
        [
            "import posenc and its layer, beyond import torch",
            f"{more:.0f} ms",
            "at most 60 ms",
            "met" if more <= 60 else "NOT MET",
        ],
        [
            f"posenc --help, torch {'not ' if is_lazy else ''}imported",
            f"{times['help']:.2f} s",
            "under 0.5 s",
            "met" if times["help"] < 0.5 and is_lazy else "NOT MET",
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

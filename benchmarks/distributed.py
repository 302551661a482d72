"""What DistributedDataParallel sends of the table at each step, with its defaults and with the table kept off the wire.

    python benchmarks/distributed.py [PROCESSES]

Processes of this machine under gloo; a step is forward, backward and the sum of the gradients.
"""

from __future__ import annotations

import inspect
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from _measure import show, show_machine
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

import posenc

DIM, MAX_LEN, LENGTH, BATCH, STEPS = 512, 5000, 128, 4, 15
# Torch 2.13 has given the switch another name.
NEW = "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
OFF = "forward_sync_buffers" if NEW else "broadcast_buffers"
WAYS = {
    "defaults": "all buffers, before each forward",
    f"{OFF}=False": "no buffer",
    "table on the ignore list": "all buffers but the table",
}


def model_of(way: str) -> DistributedDataParallel:
    """A small model behind the encoding, wrapped in one of the three ways."""
    model = nn.Sequential(posenc.PositionalEncoding(DIM, max_len=MAX_LEN), nn.Linear(DIM, DIM), nn.LayerNorm(DIM))
    if "ignore" in way:
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model  # noqa: SLF001 - torch has no other
        ignore(model, ["0.pe"])
    options: dict[str, Any] = {OFF: False} if way.startswith(OFF) else {}
    return DistributedDataParallel(model, **options)


def step(model: nn.Module, x: torch.Tensor) -> float:
    """Seconds that one step takes."""
    begin = time.perf_counter()
    model(x).square().sum().backward()
    return time.perf_counter() - begin


def megabytes_sent(model: nn.Module, x: torch.Tensor) -> float:
    """What one step broadcasts, in MB; gradients are not broadcast but summed."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        step(model, x)
    shapes = [shape for event in seen.events() if event.name == "gloo:broadcast" for shape in event.input_shapes]
    return sum(torch.Size(shape).numel() for shape in shapes) * 4 / 1e6


def rank_of(rank: int, world: int, rendezvous: str) -> None:
    """Measures the ways by turns; rank 0 prints."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    torch.manual_seed(rank)
    x = torch.randn(BATCH, LENGTH, DIM)
    models = {way: model_of(way) for way in WAYS}
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(STEPS + 3):
        for way, model in models.items():
            dist.barrier()
            seconds = step(model, x)
            if turn >= 3:  # the first ones bundle the gradients
                times[way].append(seconds)
    sent = {way: megabytes_sent(model, x) for way, model in models.items()}
    if rank == 0:
        show_machine()
        rows = [
            [way, f"{sent[way]:.1f} MB", f"{statistics.median(times[way]) * 1e3:.1f} ms", meaning]
            for way, meaning in WAYS.items()
        ]
        header = ["DistributedDataParallel", "broadcast a step", "time of a step", "what is sent"]
        show(f"{world} processes, table {MAX_LEN} x {DIM}", rows, header)
    dist.barrier()
    dist.destroy_process_group()


def main(world: int) -> None:
    """Starts the processes and waits for them."""
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = str(Path(folder) / "rendezvous")
        commands = [[sys.executable, __file__, "--rank", str(rank), str(world), rendezvous] for rank in range(world)]
        # The profiler tells of its start and its end: worth reading after a failure alone.
        ranks = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
        said = [rank.communicate()[1] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit("\n".join(said))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_of(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

"""Counts what DistributedDataParallel sends before a forward, with its defaults and without the table."""

# ruff: noqa: D101, D102, D103, INP001, SLF001, T201 - a script to be read from the top, and it prints

import inspect
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.distributed import destroy_process_group, init_process_group
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

import posenc

# Newer releases of torch have another name for it.
SYNC = "forward_sync_buffers"
if SYNC not in inspect.signature(DistributedDataParallel).parameters:
    SYNC = "broadcast_buffers"


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.front = posenc.SequenceEmbedding(1000, 256, dropout=0.0, max_len=5000)
        self.block = posenc.EncoderBlock(256, 4, 512, dropout=0.0)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.block(self.front(ids))


def sent(model: nn.Module, ids: torch.Tensor) -> int:
    """Bytes that one forward broadcasts; all of this model is float32."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        model(ids)
    events = [event for event in seen.events() if event.name == "gloo:broadcast"]
    return sum(4 * torch.Size(shape).numel() for event in events for shape in event.input_shapes)


def work(rank: int, meeting: str) -> None:
    torch.set_num_threads(1)
    init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    ids = torch.randint(1000, (2, 16), generator=torch.Generator().manual_seed(rank))
    torch.manual_seed(0)
    model = Model()

    defaults = DistributedDataParallel(model)
    kept = DistributedDataParallel(model, **{SYNC: False})
    model._ddp_params_and_buffers_to_ignore = {"front.encoding.pe"}
    ignored = DistributedDataParallel(model)
    ways = {"defaults": defaults, f"{SYNC}=False": kept, "table ignored": ignored}

    whole = model(ids)
    for name, way in ways.items():
        number, same = sent(way, ids), torch.equal(way(ids), whole)
        if rank == 0:
            print(f"{name:26} {number:9,} bytes a forward, the same output: {same}", flush=True)
    torch.distributed.barrier()
    destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        start_processes(work, (str(Path(folder) / "meeting"),), nprocs=2, start_method="spawn")

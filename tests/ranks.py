"""One rank of a group of processes: runs every check of test_distributed.py and writes what came of it.

    python -m tests.ranks RANK WORLD_SIZE RENDEZVOUS_FILE RESULTS_FILE

Every check computes a whole on one process and in parts on all of them, and compares the two.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from tests.ranks_model import BATCH, DIM, HEADS, LENGTH, Model, example, mine, train
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

import posenc
from posenc.positions import shard_indices

# All in float64, where a sum over ranks in another order moves a gradient of order 1 by some 1e-16 per addend;
# there are BATCH * LENGTH * 4 DIM of them at most.
ROUNDING = BATCH * LENGTH * 4 * DIM * 2.0**-52


def equal(got: Tensor, wanted: Tensor, what: str) -> None:
    """Bit for bit."""
    assert got.dtype == wanted.dtype, (what, got.dtype, wanted.dtype)
    assert torch.equal(got, wanted), (what, got, wanted)


def near(got: Tensor, wanted: Tensor, what: str) -> None:
    """Within the rounding of sums in another order."""
    gap = (got - wanted).abs().max().item()
    assert gap <= ROUNDING, (what, gap, ROUNDING)


def joined(piece: Tensor, indices: Tensor, length: int, world: int) -> Tensor:
    """Pieces (B, local, ...) of all ranks, of equal lengths, put back at their indices (local,)."""
    pieces, places = ([torch.empty_like(t) for _ in range(world)] for t in (piece, indices))
    dist.all_gather(pieces, piece.contiguous())
    dist.all_gather(places, indices)
    whole = piece.new_full((piece.shape[0], length, *piece.shape[2:]), float("nan"))
    for place, part in zip(places, pieces, strict=True):
        whole[:, place] = part
    return whole


def same_training(losses: list[float], part: nn.Module, whole: nn.Module, alone: list[float], world: int) -> None:
    """The mean of the losses of all ranks, and all weights, are those of the training on one process."""
    shared = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(shared)
    near(shared / world, torch.tensor(alone, dtype=torch.float64), "losses")
    for (name, got), want in zip(part.named_parameters(), whole.parameters(), strict=True):
        held = got.full_tensor() if isinstance(got, DTensor) else got
        near(held.detach(), want.detach(), name)


def ddp_with_its_defaults(rank: int, world: int) -> None:
    whole, ids, wanted = example()
    torch.manual_seed(100 + rank)
    part = Model()  # other weights on every rank: wrapping makes them those of rank 0
    part.load_state_dict(whole.state_dict() if rank == 0 else part.state_dict())
    ddp = DistributedDataParallel(part)
    losses = train(ddp, ddp.parameters(), mine(ids, rank, world), mine(wanted, rank, world))
    same_training(losses, part, whole, train(whole, whole.parameters(), ids, wanted), world)
    equal(part.front.encoding.pe, whole.front.encoding.pe, "the table")


def table_stays_off_the_wire(rank: int, world: int) -> None:
    _, ids, _ = example()
    table = Model().front.encoding.pe
    sent = {}
    # Torch 2.13 has given the switch another name.
    new = "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
    off = {"forward_sync_buffers" if new else "broadcast_buffers": False}
    for name, options in {"defaults": {}, "off": off, "ignored": {}}.items():
        model = Model()
        if name == "ignored":
            buffers = [name for name, _ in model.named_buffers()]
            DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, buffers)
        ddp = DistributedDataParallel(model, **options)
        for _ in range(2):  # the second step still tells the others how gradients are bundled
            ddp(mine(ids, rank, world)).sum().backward()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
            ddp(mine(ids, rank, world)).sum().backward()
        sent[name] = sum(
            torch.Size(shape).numel()
            for event in seen.events()
            if event.name == "gloo:broadcast"
            for shape in event.input_shapes
        )
        equal(model.front.encoding.pe, table, name)
    assert sent["defaults"] >= table.numel(), sent
    assert sent["off"] == sent["ignored"] == 0, sent


def fsdp2_from_the_meta_device(rank: int, world: int) -> None:
    whole, ids, wanted = example()
    part = Model(device="meta")
    mesh = init_device_mesh("cpu", (world,))
    for module in (*part.blocks, part):
        fully_shard(module, mesh=mesh)
    part.to_empty(device="cpu")
    equal(part.front.encoding.pe, whole.front.encoding.pe, "the table before anything is loaded")
    set_model_state_dict(part, whole.state_dict(), options=StateDictOptions(full_state_dict=True))
    losses = train(part, part.parameters(), mine(ids, rank, world), mine(wanted, rank, world))
    same_training(losses, part, whole, train(whole, whole.parameters(), ids, wanted), world)


def fsdp2_in_bfloat16(rank: int, world: int) -> None:
    _, ids, _ = example()
    model = Model().float()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32)
    # The table stays float32, which no policy casts: the sum comes in the dtype of the vectors.
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)), mp_policy=policy)
    seen = []
    model.front.register_forward_hook(lambda *called: seen.append(called[-1].dtype))
    out = model(mine(ids, rank, world))
    out.sum().backward()
    assert seen == [torch.bfloat16], seen
    assert out.dtype == torch.float32


def checkpoint_of_all_ranks(rank: int, world: int) -> None:
    import torch.distributed.checkpoint as dcp

    whole, ids, _ = example()
    model = Model(persistent=False)
    model.load_state_dict(whole.state_dict())
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    folder: list[Any] = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    dcp.save(model.state_dict(), checkpoint_id=folder[0])
    longer = Model(max_len=100, persistent=False)  # another length, on one process
    state = longer.state_dict()
    dcp.load(state, checkpoint_id=folder[0])
    longer.load_state_dict(state)
    equal(longer(ids), whole(ids), "a model with a longer table")


def sequence_in_shards(rank: int, world: int) -> None:
    torch.manual_seed(3)
    length = 8 * world
    x, q = torch.randn(2, length, DIM), torch.randn(2, length, HEADS, DIM)
    layer = posenc.PositionalEncoding(DIM, dropout=0.0, max_len=length)
    rotary = posenc.RotaryEmbedding(DIM, seq_dim=1)
    bias = posenc.AlibiBias(HEADS)
    documents = [2 * world, 4 * world, 2 * world]
    ways: list[dict[str, Any]] = [{"kind": kind} for kind in ("contiguous", "zigzag", "striped")]
    ways += [{**way, "lengths": documents, "cut": cut} for way in ways for cut in ("whole", "each")]
    for way in ways:
        indices = shard_indices(length, rank, world, **way)
        here = posenc.shard_positions(length, rank, world, **way)
        packed = posenc.positions_from_lengths(documents) if "lengths" in way else torch.arange(length)
        got = joined(layer(x[:, indices], positions=here), indices, length, world)
        equal(got, layer(x, positions=packed), f"sums, {way}")
        turned, _ = rotary(q[:, indices], q[:, indices], positions=here)
        whole, _ = rotary(q, q, positions=packed)
        equal(joined(turned, indices, length, world), whole, f"turned queries, {way}")
        rows = bias(len(here), length, query_positions=here, key_positions=packed)
        all_rows = bias(length, length, query_positions=packed, key_positions=packed)
        equal(rows, all_rows[..., indices, :], f"biases, {way}")


def sequence_as_a_dtensor(rank: int, world: int) -> None:
    torch.manual_seed(4)
    mesh = init_device_mesh("cpu", (world,))
    layer = posenc.PositionalEncoding(DIM, dropout=0.0)
    for length in (8 * world, 8 * world - 3):
        x = torch.randn(2, length, DIM)
        wanted = layer(x)
        shard = distribute_tensor(x, mesh, [Shard(1)])
        net = nn.Sequential(posenc.PositionalEncoding(DIM, dropout=0.0))
        got = parallelize_module(net, mesh, {"0": SequenceParallel()})(shard)
        equal(got.full_tensor(), wanted, f"SequenceParallel, length {length}")
        # The local part of positions that were cut like x, into the plain layer.
        positions = distribute_tensor(torch.arange(length), mesh, [Shard(0)]).to_local()
        local = layer(shard.to_local(), positions=positions)
        whole = DTensor.from_local(local, mesh, [Shard(1)], shape=x.shape, stride=x.stride())
        equal(whole.full_tensor(), wanted, f"plain layer, length {length}")
        held = distribute_module(posenc.PositionalEncoding(DIM, dropout=0.0), mesh)
        equal(held(distribute_tensor(x, mesh, [Replicate()])).full_tensor(), wanted, f"replicated, length {length}")


def order_of_context_parallel(rank: int, world: int) -> None:
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    torch.manual_seed(5)
    length = 4 * world
    mesh = init_device_mesh("cpu", (world,))
    x, positions = torch.randn(2, length, DIM), torch.arange(length)
    layer = posenc.PositionalEncoding(DIM, dropout=0.0)
    rotary = posenc.RotaryEmbedding(DIM)
    wanted, turned = layer(x), rotary(x, x)[0]
    with context_parallel(mesh, buffers=[x, positions], buffer_seq_dims=[1, 0]):
        # Torch gives each rank an early and a late piece: positions are cut like x.
        equal(positions, posenc.shard_positions(length, rank, world, kind="zigzag"), "positions of torch")
        pieces = [layer(x, positions=positions), rotary(x, x, positions=positions)[0]]
    got = context_parallel_unshard(mesh, pieces, [1, 1])
    equal(got[0], wanted, "sums")
    equal(got[1], turned, "turned queries")


CHECKS = [
    ddp_with_its_defaults,
    table_stays_off_the_wire,
    fsdp2_from_the_meta_device,
    fsdp2_in_bfloat16,
    checkpoint_of_all_ranks,
    sequence_in_shards,
    sequence_as_a_dtensor,
    order_of_context_parallel,
]


def main(rank: int, world: int, rendezvous: str, results: str) -> None:
    """Runs every check; a rank that fails says so to the others only by its own line in the results."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world, timeout=timedelta(seconds=60)
    )
    with Path(results).open("w") as out:
        for check in CHECKS:
            fault = ""
            try:
                check(rank, world)
            except Exception:  # noqa: BLE001 - whatever it is, the test shows it
                fault = traceback.format_exc()
            out.write(json.dumps({"check": check.__name__, "fault": fault}) + "\n")
            out.flush()
            with contextlib.suppress(Exception):
                dist.barrier()
    # A group that is torn down while another rank still talks can end in an abort.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])

"""Several processes under gloo: data parallel, sharded weights, sharded sequences; each equals the single process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

HERE = Path(__file__).parent
NAMES = [line.strip(" ,\n") for line in (HERE / "ranks.py").read_text().split("CHECKS = [")[1].split("]")[0].split()]
SECONDS = 240

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (dist.is_available() and dist.is_gloo_available()), reason="torch was built without gloo"),
]


@pytest.fixture(scope="module", params=[2, 4], ids=["2 processes", "4 processes"])
def results(request, tmp_path_factory):
    """What every rank found: check -> one text a rank, empty where all was well."""
    world, folder = request.param, tmp_path_factory.mktemp("ranks")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.ranks", str(rank), str(world), folder / "rendezvous", folder / str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=HERE.parent,
            env=environment,
        )
        for rank in range(world)
    ]
    try:
        said = [rank.communicate(timeout=SECONDS)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    found = {name: [] for name in NAMES}
    for number, rank in enumerate(ranks):
        lines = [json.loads(line) for line in (folder / str(number)).read_text().splitlines()]
        for line in lines:
            found[line["check"]].append(line["fault"])
        assert rank.returncode == 0, f"rank {number} ended with {rank.returncode}:\n{said[number]}"
    return world, found


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("check", NAMES)
def test_parts_equal_the_whole(check, results):
    world, found = results

    assert found[check] == [""] * world, "\n".join(found[check])

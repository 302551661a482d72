"""The table of the layer is a buffer: what is written into it stays until it is filled again, and who fills it."""

from __future__ import annotations

import copy
import pickle
import threading
from unittest import mock

import pytest
import torch
from tests.test_modules import layer

import posenc
from posenc.modules import buffer as home

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
X = torch.zeros(2, 5, 16)
# Inside the table, and where rows are computed.
INSIDE = [{}, {"offset": 3}, {"positions": torch.tensor([4, 0, 1, 1, 31])}, {"offset": torch.tensor([1, 7])}]
BEYOND = [{"offset": 100}, {"offset": -1}, {"positions": torch.tensor([4, 0, 1, 1, 99])}]
GRAPHS = ["eager", "aot_eager"]


@pytest.mark.parametrize("options", INSIDE, ids=str)
@pytest.mark.parametrize("batch_first", [True, False])
def test_an_ablation_stays(options, batch_first):
    """The layer that healed itself undid `pe.mul_(0.5)` without a word."""
    made = layer(batch_first=batch_first)
    x = X if batch_first else X.transpose(0, 1)
    wanted = made(x, **options) / 2
    made.pe.mul_(0.5)

    assert torch.equal(made(x, **options), wanted)
    assert torch.equal(made.state_dict()["pe"], made.pe)


@pytest.mark.parametrize("options", BEYOND, ids=str)
def test_an_ablation_does_not_reach_rows_that_are_computed(options):
    made = layer()
    made.pe.zero_()

    assert torch.equal(made(X, **options), layer()(X, **options))


@pytest.mark.parametrize("backend", GRAPHS)
def test_a_graph_reads_the_buffer_and_computes_given_positions(backend):
    made = layer()
    made.pe.zero_()
    torch._dynamo.reset()
    compiled = torch.compile(made, backend=backend, fullgraph=True)
    positions = torch.arange(5)

    assert torch.equal(compiled(X), X)
    torch.testing.assert_close(compiled(X, positions=positions), layer()(X))
    made.reset_parameters()
    assert torch.equal(compiled(X), layer()(X))


@pytest.mark.parametrize("device", ["cpu", "meta", pytest.param("cuda", marks=NEEDS_GPU)])
def test_nothing_fills_the_table_between_calls(device):
    made = layer().to(device)
    with mock.patch.object(home, "table", side_effect=AssertionError("filled")):
        made.pe.fill_(torch.nan)
        made(X.to(device))
        made.eval().to(device).float()
        copy.deepcopy(made)(X.to(device))
        made.state_dict()


REFILLS = {
    "reset": lambda made: made.reset_parameters(),
    "cast": lambda made: made.double().float(),
    "load": lambda made: made.load_state_dict(layer().state_dict()),
    "load without a table": lambda made: made.load_state_dict({}, strict=False),
    "leaving meta": lambda made: made.to("meta").to_empty(device="cpu"),
}


@pytest.mark.parametrize("way", REFILLS)
def test_what_fills_the_table_again(way):
    made = layer()
    made.pe.fill_(torch.nan)
    REFILLS[way](made)

    assert torch.equal(made.pe, layer().pe)
    assert torch.equal(made(X), layer()(X))


def test_a_live_layer_that_is_emptied_is_filled_by_reset_parameters():
    made = layer()
    made.to_empty(device="cpu")
    made.reset_parameters()

    assert torch.equal(made.pe, layer().pe)


def test_a_copy_in_inference_mode_is_right():
    made = layer()
    with torch.inference_mode():
        other = copy.deepcopy(made)
        assert torch.equal(other(X), made(X))
    assert torch.equal(other(X), made(X))


def test_what_is_put_there_for_a_call_is_added_and_not_written_to():
    made, mine = layer(), torch.full((1, 32, 16), 7.0)

    got = torch.func.functional_call(made, {"pe": mine}, (X,))

    assert torch.equal(got, X + 7)
    assert bool((mine == 7).all())


def test_a_shared_table_stays_shared():
    made = layer()
    made.share_memory()
    address = made.pe.data_ptr()

    assert torch.equal(made(X), layer()(X))
    assert made.pe.is_shared()
    assert made.pe.data_ptr() == address


def test_an_ensemble_brings_its_own_tables():
    models = [layer(), layer()]
    parameters, buffers = torch.func.stack_module_state(models)
    buffers = {name: held * torch.tensor([1.0, 2.0]).view(2, 1, 1, 1) for name, held in buffers.items()}

    def call(held, x):
        return torch.func.functional_call(models[0], held, (x,))

    made = torch.func.vmap(call, in_dims=(0, None))({**parameters, **buffers}, X)
    assert torch.equal(made[0], models[0](X))
    assert torch.equal(made[1], 2 * models[0](X))


@pytest.mark.parametrize("table", [None, torch.nn.Parameter(torch.zeros(1, 32, 16))], ids=["none", "parameter"])
def test_a_table_that_is_not_a_buffer_any_more_is_refused(table):
    made = layer()
    del made.pe
    made.pe = table
    state = layer().state_dict()

    for call in (
        lambda: made(X),
        lambda: made(X, positions=torch.arange(5)),
        made.half,
        made.reset_parameters,
        lambda: made.load_state_dict(state),
    ):
        with pytest.raises(posenc.errors.PosencError, match="LearnedPositionalEmbedding"):
            call()
    assert table is None or not table.any()


WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "cast": lambda made: made.double().float(),
    "load": lambda made: (made.load_state_dict(layer().state_dict()), made)[1],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_called_by_six_threads_at_once_is_right(way):
    """Copies filled their table at the first call, and threads added rows that were not written yet."""
    wanted = layer()(X)
    for _ in range(20):
        made, wrong, start = WAYS[way](layer()), [], threading.Barrier(6)

        def call(made=made, wrong=wrong, start=start):
            start.wait()
            wrong.extend(1 for _ in range(5) if not torch.equal(made(X), wanted))

        threads = [threading.Thread(target=call) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert torch.equal(made(X), wanted)

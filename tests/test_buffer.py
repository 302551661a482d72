"""The table of the layer where other hands were at it: what wrappers, loaders and initialisers do to buffers."""

from __future__ import annotations

import copy
import pickle
from unittest import mock

import pytest
import torch
from tests.test_modules import layer

import posenc
from posenc.modules import buffer as home

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
X = torch.zeros(2, 5, 16)
CALLS = [{}, {"offset": 3}, {"positions": torch.tensor([4, 0, 1, 1, 31])}, {"offset": torch.tensor([1, 7])}]


def fill(made, value):
    """An initialiser that runs over buffers."""
    for buffer in made.buffers():
        buffer.fill_(value)


def cast_in_place(made):
    """What FSDP's mixed precision does, there and back."""
    for buffer in made.buffers():
        buffer.data = buffer.data.half()
        buffer.data = buffer.data.float()


def replace_twice(made):
    for name, buffer in list(made.named_buffers()):
        made._buffers[name] = buffer.bfloat16()
        made._buffers[name] = made._buffers[name].float()


def put_empty_memory(made):
    """What loaders do that build on the meta device and know no non-persistent buffers."""
    for name, buffer in list(made.named_buffers()):
        made._buffers[name] = torch.empty_like(buffer)


def empty_a_live_layer(made):
    made.to_empty(device="cpu")


def broadcast(made):
    """DDP writes the same values, before every forward."""
    for buffer in made.buffers():
        buffer.copy_(buffer.clone())


HANDS = {
    "nan": lambda made: fill(made, torch.nan),
    "zero": lambda made: fill(made, 0.0),
    "cast in place": cast_in_place,
    "replaced twice": replace_twice,
    "empty memory": put_empty_memory,
    "emptied": empty_a_live_layer,
    "broadcast": broadcast,
}


@pytest.mark.parametrize("options", CALLS, ids=str)
@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("batch_first", [True, False])
def test_values_are_right_whatever_was_done_to_the_buffer(hand, options, batch_first):
    made = layer(batch_first=batch_first)
    x = X if batch_first else X.transpose(0, 1)
    wanted = made(x, **options)
    HANDS[hand](made)

    assert torch.equal(made(x, **options), wanted)
    assert torch.equal(made.pe, layer(batch_first=batch_first).pe)


def test_a_copy_in_inference_mode_is_right():
    made = layer()
    with torch.inference_mode():
        other = copy.deepcopy(made)
        assert torch.equal(other(X), made(X))
    assert torch.equal(other(X), made(X))
    assert not other.pe.is_inference()


def test_what_was_put_there_is_not_written_to():
    made, mine = layer(), torch.full((1, 32, 16), 7.0)

    got = torch.func.functional_call(made, {"pe": mine}, (X,))

    assert torch.equal(got, made(X))
    assert bool((mine == 7).all())


def test_a_table_that_somebody_trains_is_left_alone():
    made = layer()
    made.pe.requires_grad_()
    with torch.no_grad():
        made.pe += 1

    assert torch.equal(made(X), layer()(X) + 1)


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

    def call(held, x):
        return torch.func.functional_call(models[0], held, (x,))

    assert torch.equal(torch.func.vmap(call, in_dims=(0, None))({**parameters, **buffers}, X)[1], models[0](X))


def test_nothing_is_filled_again_in_common_use():
    made = layer()
    state = made.state_dict()
    made.load_state_dict(state)
    with mock.patch.object(home, "table", side_effect=AssertionError("filled again")):
        for options in CALLS:
            made(X, **options)
        made.to("cpu").float().eval()
        with torch.inference_mode():
            made(X)
        made(X)


def test_broadcasts_of_the_same_values_fill_it_once():
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        made = layer(dtype=dtype)
        wanted = made(X)
        with mock.patch.object(home, "table", side_effect=home.table) as filled:
            for _ in range(4):
                broadcast(made)
                assert torch.equal(made(X), wanted)
            assert filled.call_count == 1
            for wrong in (torch.nan, 0.0):
                fill(made, wrong)
                assert torch.equal(made(X), wanted)
            # The same rows in another order are other values.
            made.pe.copy_(made.pe.flip(1).clone())
            assert torch.equal(made(X), wanted)
        assert filled.call_count == 1


def test_a_copy_is_filled_once():
    for carry in (copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))):
        made = carry(layer())
        with mock.patch.object(home, "table", side_effect=home.table) as filled:
            for _ in range(3):
                assert torch.equal(made(X), posenc.table(5, 16).expand(2, 5, 16))
        assert filled.call_count <= 1


@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=NEEDS_GPU)])
def test_on_other_devices_nothing_is_looked_at(device):
    made = layer().to(device)
    with mock.patch.object(home, "table", side_effect=AssertionError("filled again")):
        for hand in ("zero", "broadcast", "replaced twice"):
            HANDS[hand](made)
            assert made._seal.holds(made.pe)
            assert made(X.to(device)).device.type == device
    if device != "meta":
        made.reset_parameters()
        assert torch.equal(made.cpu()(X), layer()(X))


@pytest.mark.parametrize("make", [layer, lambda: posenc.SequenceEmbedding(9, 16, 0.0)], ids=["layer", "front"])
def test_a_graph_is_made_of_right_values(make):
    made = make()
    x = X if isinstance(made, posenc.PositionalEncoding) else torch.ones(2, 5, dtype=torch.int64)
    wanted = made(x)
    dict(made.named_buffers()).popitem()[1].normal_()

    assert torch.equal(torch.compile(made, backend="eager", fullgraph=True)(x), wanted)


def test_a_checkpoint_holds_right_values():
    made = layer()
    fill(made, 0.0)

    assert torch.equal(made.state_dict()["pe"], layer().pe)


def test_what_was_written_before_a_move_does_not_stay():
    made = layer()
    fill(made, 7.0)
    made._apply(torch.clone)

    assert torch.equal(made.pe, layer().pe)


@pytest.mark.parametrize("table", [None, torch.nn.Parameter(torch.zeros(1, 32, 16))], ids=["none", "parameter"])
def test_a_table_that_is_no_buffer_any_more_is_refused(table):
    made = layer()
    del made.pe
    made.pe = table

    for call in (lambda: made(X), lambda: made(X, positions=torch.arange(5)), made.half, made.state_dict):
        with pytest.raises(posenc.errors.PosencError, match="LearnedPositionalEmbedding"):
            call()

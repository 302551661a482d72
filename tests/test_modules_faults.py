"""Faults that were once met in the layer: each stands for its kind."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import posenc
from posenc.errors import DtypeError, InputError

from .test_modules import layer


@pytest.mark.parametrize("batch_first", [True, False])
def test_an_offset_never_adds_an_axis(batch_first):
    with pytest.raises(InputError, match="got offset of shape"):
        layer(batch_first=batch_first)(torch.zeros(5, 16), offset=torch.tensor([3]))


@pytest.mark.parametrize(
    ("positions", "offset"),
    [([0.0, 1.0], 2**53 + 1), ([0.5, 1.5], torch.tensor(2**52 + 1)), ([2.0**62, 1.0], 2**62)],
)
def test_a_float_sum_that_float64_cannot_hold_is_refused(positions, offset):
    positions = torch.tensor(positions, dtype=torch.float64)

    with pytest.raises(InputError, match="does not hold"):
        layer()(torch.zeros(1, 2, 16), positions=positions, offset=offset)


def test_sums_that_fit_are_taken():
    x = torch.zeros(2, 1, 16)
    edge = torch.tensor([[2**63 - 1], [0]])

    got = layer()(x, positions=edge, offset=torch.tensor([0, 5]))

    assert torch.equal(got[:, 0], posenc.encode([2**63 - 1, 5], 16))
    tenths = torch.tensor([[0.1], [0.2]], dtype=torch.float64)
    assert torch.equal(layer()(x, positions=tenths, offset=1000), posenc.encode(tenths + 1000, 16))


def test_an_average_of_models_keeps_compiled_values_right():
    model = layer()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999), use_buffers=True)
    for _ in range(3):
        average.update_parameters(model)
    compiled = torch.compile(average.module.eval(), backend="aot_eager", fullgraph=True)
    positions = torch.tensor([1000, 10**6, 10**8])

    assert torch.equal(compiled(torch.zeros(1, 3, 16), positions=positions)[0], posenc.encode(positions, 16))


def test_loading_under_another_default_device():
    made, ladder = layer(), 1.0 / (10000 ** (torch.arange(0, 16, 2).float() / 16))
    state = made.state_dict()
    other = layer(convention="positional-encodings")

    with torch.device("meta"):
        made.load_state_dict(state)
        other.load_state_dict({"inv_freq": ladder})

    assert torch.equal(made.pe, layer().pe)


def test_loading_in_inference_mode_leaves_a_table_that_can_be_written():
    made = nn.Sequential(layer())
    state = made.state_dict()

    with torch.inference_mode():
        made.load_state_dict(state)
        fresh = layer()

    for one in (made[0], fresh):
        assert not any(buffer.is_inference() for buffer in one.buffers())
        one.pe.zero_()
        one.reset_parameters()
        assert torch.equal(one.pe, layer().pe)


def test_loading_among_fake_tensors():
    with FakeTensorMode():
        made = layer()
        made.load_state_dict({name: value.clone() for name, value in made.state_dict().items()})

    assert torch.equal(posenc.table(32, 16), layer().pe[0])


def test_a_refused_cast_leaves_the_layer_as_it_was():
    made = layer()
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        with pytest.raises(DtypeError, match="cast of the layer"):
            made.to(dtype)

    assert made.pe.dtype == torch.float32
    assert torch.equal(made(torch.zeros(1, 2, 16), offset=40)[0], posenc.table(2, 16, start=40))


def test_a_table_that_someone_made_trainable_can_be_filled():
    made = layer()
    made.pe.requires_grad_()

    made.reset_parameters()
    made.load_state_dict(layer().state_dict())

    assert torch.equal(made.pe.detach(), layer().pe)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_the_front_sums_in_the_wider_dtype(narrow, wide):
    front = posenc.SequenceEmbedding(20, 16, 0.0, 32, dtype=wide)
    front.embedding.to(narrow)
    ids = torch.arange(20).view(2, 10)
    exact = 4 * front.embedding(ids).double() + front.encoding.pe[0, :10].double()

    got = front(ids)

    assert got.dtype == narrow
    # Half a unit in the last place, and for a float32 sum its own rounding before.
    unit = 2.0 ** exact.abs().clamp(min=2.0**-14).log2().floor() * torch.finfo(narrow).eps
    assert ((got.double() - exact).abs() <= unit * (0.5 + 2**-12)).all()


def test_the_warning_names_the_line_that_called():
    made = layer()
    made.trained_length = 4

    made(torch.zeros(1, 0, 16), offset=50)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made(torch.zeros(1, 9, 16))

    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"device": "gpu"}, "got device='gpu'"),
        ({"device": 3.5}, "got device=3.5"),
        ({"max_len": 2**50}, "GiB, but wanted one that the memory holds; pass a smaller max_len"),
    ],
)
def test_what_torch_cannot_make_is_our_error(options, said):
    with pytest.raises(InputError, match=said):
        layer(**options)


def test_only_dense_tensors():
    with pytest.raises(InputError, match="layout"):
        layer()(torch.zeros(2, 5, 16).to_sparse())
    with pytest.raises(RuntimeError, match=r"layout torch.sparse_coo, but wanted a dense table"):
        layer().load_state_dict({"pe": layer().pe.to_sparse()})


def test_a_token_beyond_the_table_is_no_view_that_others_see():
    made, x = layer(), torch.zeros(1, 1, 16)
    first = made(x, offset=1000)
    first.zero_()

    assert torch.equal(made(x, offset=1000)[0, 0], posenc.encode(1000, 16))
    assert torch.equal(made(torch.zeros(1, 2, 16), offset=1023)[0], posenc.table(2, 16, start=1023))

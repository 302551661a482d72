"""All that we ask of torch's insides: who looks on, a compiler, an exporter, a tracer, a fake or functional mode.

No other file names a private part of torch, and a test holds that. Where torch has a public question, the callers ask
it themselves: `torch.compiler.is_compiling()`, `is_exporting()`, `torch.jit.is_tracing()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

F = TypeVar("F", bound=Callable[..., tuple[Any, ...]])

_functorch = torch._C._functorch


def in_graph() -> bool:
    """Whether operations are being recorded, to run later with other values."""
    return torch.compiler.is_compiling() or torch._C._is_tracing()


def is_plain() -> bool:
    """Whether tensors made now hold data: no compiler, tracer, fake or functional mode is on."""
    # A trace of TorchScript takes what was kept for a constant, of the length that was traced.
    if in_graph():
        return False
    if torch._C._len_torch_dispatch_stack():
        keys = torch._C._TorchDispatchModeKey
        if any(torch._C._get_dispatch_mode(key) is not None for key in (keys.FAKE, keys.PROXY, keys.FUNCTIONAL)):
            return False
    top = _functorch.peek_interpreter_stack()
    return top is None or top.key() != _functorch.TransformType.Functionalize


def may_keep() -> bool:
    """Whether tensors made now may be used by later calls: plain ones, outside the transforms of torch.func."""
    return is_plain() and _functorch.peek_interpreter_stack() is None


def in_transform(tensor: Tensor) -> bool:
    """Whether a transform of torch.func is at work, or the batched gradients of autograd on this tensor."""
    return _functorch.peek_interpreter_stack() is not None or bool(_functorch.is_legacy_batchedtensor(tensor))


def is_wrapped(tensor: Tensor) -> bool:
    """Whether a transform of torch.func holds this tensor, so that it has no values of its own."""
    return bool(_functorch.is_functorch_wrapped_tensor(tensor))


def constant_in_graphs(function: F) -> F:
    """A function that a compiler runs when it makes a graph, and whose result is a constant of the graph.

    It gives a tuple, never a tensor: Dynamo gives every tensor that comes so the same source, and two in one graph
    end in an error of its own. This sets what `torch.compiler.assume_constant_result` sets, which would load torch's
    whole compiler with `import posenc`; a test compares the two.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def with_fixed_sizes(tensor: Tensor) -> Tensor:
    """The same tensor, whose sizes a compiler takes as they are, also where it is to leave sizes open.

    Those of a constant have no source in the graph that could be asked again, and left open they end in an error of
    Dynamo's own. This sets what `torch._dynamo.mark_static` sets, which loads the whole compiler.
    """
    if not hasattr(tensor, "_dynamo_static_indices"):
        tensor._dynamo_static_indices = set(range(tensor.ndim))  # type: ignore[attr-defined]
        tensor._has_dynamo_dim_marking = True  # type: ignore[attr-defined]
    return tensor


def registers(module: nn.Module) -> tuple[dict[str, Tensor | None], dict[str, nn.Module | None]]:
    """The buffers and the submodules of a module, where it keeps them: its own look-up takes as long as a small sum."""
    return module._buffers, module._modules


def fake_mode() -> Any:
    """A mode in which tensors have shapes and dtypes but no memory, to look into a file without reading it."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()

"""Names every tensor in the nested containers of a file: a walk that ends, however they are tangled."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from .faults import deny

# A container may hold itself, and a few hundred bytes may nest into billions of tensors; here is room for 200 000.
_DEPTH = 64
_LONGEST = 1024
_EFFORT = 5_000_000
_VISIT = 20


def tensors(path: str, content: object) -> list[tuple[str, Tensor]]:
    """Each tensor with its keys joined by ".", in the order of the containers; other things are passed over."""
    found = []
    effort = 0
    waiting: list[tuple[str, object, int]] = [("", content, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, Tensor):
            # Only the tensor, without the attributes that a file may have given it.
            found.append((name, Tensor.detach(value)))
        children = list(_children(value))
        effort += len(children) + _VISIT
        if depth > _DEPTH or effort > _EFFORT or len(name) > _LONGEST:
            wanted = f"dicts, lists and tuples that nest at most {_DEPTH} deep, names up to {_LONGEST} letters"
            deny(path, "whose containers nest without end or measure", wanted, "save one flat dict of tensors")
        waiting += [
            (f"{name}.{_word(key)}" if name else _word(key), child, depth + 1)
            for key, child in reversed(children)
            if isinstance(child, (Tensor, dict, list, tuple))
        ]
    return found


def _children(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, (list, tuple)) else ()


def _word(key: object) -> str:
    """A key as a part of a name; the text of anything but plain values may be long, or take long."""
    parts = key if isinstance(key, tuple) else (key,)
    plain = all(isinstance(part, (str, int, float, bytes, type(None))) for part in parts)
    return str(key) if plain else type(key).__name__

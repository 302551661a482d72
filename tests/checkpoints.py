"""What checkpoints hold for rotary modules, written down as every system does, and whether a module takes it."""

import pytest
import torch

from posenc import RotaryEmbedding

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def inverse(base: float, width: int = 64) -> torch.Tensor:
    """As every system writes it down."""
    return 1.0 / (base ** (torch.arange(0, width, 2).float() / width))


def angles(base: float, width: int = 64, length: int = 300) -> torch.Tensor:
    return torch.outer(torch.arange(length).float(), inverse(base, width))


def sound(rotary: RotaryEmbedding, state: dict, **options) -> None:
    """It loads, nothing is missing or left over, and no value of the module changes."""
    x = torch.ones(1, 3, rotary.dim)
    before = rotary(x, x)[0]
    result = rotary.load_state_dict(state, **options)
    assert not result.missing_keys
    assert not result.unexpected_keys
    assert torch.equal(rotary(x, x)[0], before)


def refused(rotary: RotaryEmbedding, state: dict) -> str:
    """What the error of torch says."""
    with pytest.raises(RuntimeError) as caught:
        rotary.load_state_dict(state)
    return str(caught.value)


def forms(angle: torch.Tensor, layout: str) -> dict[str, list[torch.Tensor]]:
    """What systems save of these angles (L, pairs), under which names."""
    both = torch.cat([angle, angle], -1) if layout == "halves" else angle.repeat_interleave(2, -1)
    turn = torch.polar(torch.ones_like(angle), angle)
    made = {
        "freqs": [angle, both, turn],
        "freqs_cis": [turn, turn[None], turn[:, None], *(torch.view_as_real(turn)[each] for each in ((), None))],
        "freqs_cos": [angle.cos(), both.cos()],
        "freqs_sin": [angle.sin(), both.sin()],
    }  # fmt: skip
    for name, wave in (("cos", torch.cos), ("sin", torch.sin)):
        shapes = (both, both[None], both[None, None], both[:, None, None], angle, angle[:, None])
        made[f"{name}_cached"] = [wave(each) for each in shapes]
        made[name] = [wave(both)]
    return made

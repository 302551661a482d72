"""What other projects compute with, copied where the package itself is not needed for it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor


def diffusers_timesteps(times: Tensor, dim: int) -> Tensor:
    """diffusers' get_timestep_embedding as Stable Diffusion calls it: cosine first, no shift (Apache 2.0)."""
    half = dim // 2
    exponent = -math.log(10000) * torch.arange(start=0, end=half, dtype=torch.float32, device=times.device)
    exponent = exponent / half
    values = torch.exp(exponent)
    values = times[:, None].float() * values[None, :]
    values = torch.cat([torch.sin(values), torch.cos(values)], dim=-1)
    return torch.cat([values[:, half:], values[:, :half]], dim=-1)


def timesteps() -> tuple[str, Callable[[Tensor, int], Tensor]]:
    """Its name, and diffusers' own where that is installed."""
    try:
        from diffusers.models.embeddings import get_timestep_embedding
    except ImportError:
        return "diffusers' formula", diffusers_timesteps
    return "diffusers", lambda times, dim: get_timestep_embedding(
        times, dim, flip_sin_to_cos=True, downscale_freq_shift=0
    )


def mae_grid(dim: int, size: int) -> np.ndarray:
    """MAE's get_2d_sincos_pos_embed, which timm and others copied (He et al. 2022)."""
    rows = np.arange(size, dtype=np.float32)
    columns = np.arange(size, dtype=np.float32)
    grid = np.stack(np.meshgrid(columns, rows), axis=0).reshape([2, 1, size, size])
    return np.concatenate([_mae_line(dim // 2, grid[0]), _mae_line(dim // 2, grid[1])], axis=1)


def _mae_line(dim: int, positions: np.ndarray) -> np.ndarray:
    omega = np.arange(dim // 2, dtype=float)
    omega /= dim / 2.0
    omega = 1.0 / 10000**omega
    out = np.einsum("m,d->md", positions.reshape(-1), omega)
    return np.concatenate([np.sin(out), np.cos(out)], axis=1)

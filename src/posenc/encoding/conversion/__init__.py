"""Tensors moved from one convention to another by a permutation of their columns."""

from .columns import convert

__all__ = ["convert"]

"""What may be used by later calls, in stores of bounded size."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from .tracing import may_keep

V = TypeVar("V")


class Cache:
    """A bounded store of finished values: least recently used goes first; safe under threads and fork."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """The value of key, made when missing. Two threads may make it twice; both get the same numbers."""
        if not may_keep():
            return make()
        with self._lock:
            # Keys are long to hash: looked up as seldom as can be.
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]  # type: ignore[return-value]
        value = make()
        with self._lock:
            if key not in self._entries and size(value) <= self.limit:
                self._entries[key] = (value, size(value))
                self.used += size(value)
                while self.used > self.limit:
                    _, (_, freed) = self._entries.popitem(last=False)
                    self.used -= freed
        return value

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._entries

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.used = 0

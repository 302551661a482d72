"""What moves on stderr while one waits; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from . import console


@contextmanager
def loading() -> Iterator[None]:
    """Say that torch is being loaded, which takes a second or two."""
    screen = console.err()
    if not screen.is_terminal:
        yield
        return
    with screen.status("Loading torch"):
        yield


class Bars:
    """A bar for each name that reports steps; they are gone once `clear` is called, or the block is left."""

    def __init__(self) -> None:
        screen = console.err()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=screen, transient=True)
        self._is_seen = screen.is_terminal
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.clear()

    def step(self, name: str, done: int, steps: int) -> None:
        """So many steps are done of all that there are."""
        if not self._is_seen:
            return
        if name not in self._tasks:
            # Begun late, so that no empty bar stands below what is printed before.
            self._progress.start()
            self._tasks[name] = self._progress.add_task(f"   {name}", total=steps)
        self._progress.update(self._tasks[name], completed=done)

    def clear(self) -> None:
        """Take the bars away, so that something can be printed."""
        if self._tasks:
            self._progress.stop()
            self._tasks.clear()

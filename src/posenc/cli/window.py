"""Opens a figure on the screen, with whatever windows matplotlib finds here."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ..errors import refuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# As matplotlib itself looks for them; each is a window of another toolkit.
_BACKENDS = ("macosx", "qtagg", "gtk4agg", "gtk3agg", "tkagg", "wxagg")


SCREEN_DPI = 90


class Window:
    """A window to come, looked for before the work begins. Raises `InputError` where there is none."""

    def __init__(self) -> None:
        self._backend = _named() if os.environ.get("MPLBACKEND") else _found()
        if self._backend is None:
            refuse(
                "no screen that matplotlib can open a window on",
                "one, or a file to draw to",
                "add --out picture.png, or --json for the numbers",
            )

    def show(self, figure: Figure) -> None:
        """Open the window, and wait until it is closed."""
        from matplotlib._pylab_helpers import Gcf

        canvas: Any = self._backend.FigureCanvas  # type: ignore[union-attr]
        # A screen has fewer pixels than a file.
        figure.set_dpi(SCREEN_DPI)
        try:
            # Main loops look for their windows here, and no public way leads to it but pyplot's own figures.
            Gcf._set_new_active_manager(canvas.new_manager(figure, 1))  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - each toolkit has errors of its own
            refuse(
                f"a screen on which no window opens ({str(error).splitlines()[0][:100]})",
                "one that is there",
                "add --out picture.png",
            )
        canvas.manager_class.pyplot_show(block=True)


def _named() -> Any | None:
    """The backend that the user has named in MPLBACKEND, if it opens windows."""
    name = os.environ["MPLBACKEND"]
    module = (
        name.removeprefix("module://")
        if name.startswith("module://")
        else f"matplotlib.backends.backend_{name.lower()}"
    )
    return _loaded(module)


def _found() -> Any | None:
    """The first backend that this machine has."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return None
    loaded = (_loaded(f"matplotlib.backends.backend_{name}") for name in _BACKENDS)
    return next((backend for backend in loaded if backend is not None), None)


def _loaded(module: str) -> Any | None:
    from ..plots.style import without_backend

    try:
        with without_backend():
            found = importlib.import_module(module)
    except Exception:  # noqa: BLE001 - a toolkit that is not whole may raise anything
        return None
    from matplotlib.backend_bases import FigureManagerBase

    base: Any = FigureManagerBase
    manager: Any = getattr(getattr(found, "FigureCanvas", None), "manager_class", base)
    # What only writes files has neither a way to show nor a loop of its own.
    own = [
        getattr(manager, way).__func__ is not getattr(base, way).__func__ for way in ("pyplot_show", "start_main_loop")
    ]
    return found if any(own) else None

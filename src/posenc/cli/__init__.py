"""The command line: one file a command, and the only floor that prints.

A command is a file here with a function `register(app)`, named in `COMMANDS`.
It imports torch, and whatever imports torch, inside the command's function, so that help stays fast.
It prints through `console.out` and `console.err`, raises `PosencError`, and exits with `console.Exit`.
"""

from __future__ import annotations

import os
import sys

import typer

from ..errors import FileError, PosencError
from . import conventions, explore, identify, show, table, tour, verify
from .console import Exit, fail
from .process import prepare

COMMANDS = (tour, explore, show, verify, table, conventions, identify)

EXAMPLES = """\
posenc gives a Transformer its sense of order.

\b
  posenc tour                  why order needs an encoding, in numbers
  posenc tour letter.txt       the same on a text of your own
  posenc explore               the encoding to turn and to break, in a browser
  posenc show --out rows.png   the encoding as a picture
  posenc verify                whether this machine computes encodings right
  posenc conventions           who encodes positions how
  posenc identify model.pt     which of them a checkpoint speaks
"""


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"posenc {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def make_app() -> typer.Typer:
    """The Typer application; its help is plain text, without boxes, as is all that it prints."""
    app = typer.Typer(
        name="posenc",
        help=EXAMPLES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for command in COMMANDS:
        command.register(app)
    return app


def main() -> None:
    """Run the command line and exit: 0 sound, 1 bad news, 2 wrong usage, 3 unreadable input."""
    if sys.stdout is None or sys.stderr is None:
        # Closed by whoever started us: there is nowhere to say it.
        os._exit(Exit.UNREADABLE)
    prepare()
    try:
        make_app()(prog_name="posenc")
    except PosencError as error:
        sys.exit(fail(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        # What commands open they guard themselves: this is the output, on a full disk for one.
        sys.exit(fail(FileError(f"got {error.strerror or error} while writing the output; write it elsewhere.")))

"""Pages that write themselves: the help of every command, and the table of conventions."""

# ruff: noqa: INP001 - Sphinx loads it by its name

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = 80
# Options with a column of their own, and those that do not decide values.
SHOWN = ("layout", "order", "base", "last", "first", "endpoint_shift", "spacing", "state_names", "released_as", "name")


class CommandHelp(SphinxDirective):
    """The help of `posenc` and of each of its commands, as the terminal shows it, one section each."""

    def run(self) -> list[nodes.Node]:
        """Sections in the order in which the command line lists them."""
        return [self._section(name, text) for name, text in helps()]

    def _section(self, name: str, text: str) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
        section += nodes.title(text=name)
        section += nodes.literal_block(text, text, language="text")
        self.state.document.note_explicit_target(section)
        return section


def helps() -> Iterator[tuple[str, str]]:
    """The name and the help of the program, then those of its commands."""
    import typer

    from posenc.cli import make_app

    root = typer.main.get_command(make_app())
    context = root.make_context("posenc", [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH)
    yield "posenc", root.get_help(context)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield f"posenc {name}", command.get_help(inner)


class ConventionTable(SphinxDirective):
    """Every named convention, subject by subject: its layout, ladder and what else differs from the paper."""

    def run(self) -> list[nodes.Node]:
        """One section and one table a subject."""
        from posenc.convention import SUBJECTS, systems

        made = []
        for subject, (_, words) in SUBJECTS.items():
            rows = [described(system) for system in systems.values() if system.subject == subject]
            lines = [f"## {subject}: {words}", "", "| name | layout | ladder | what else |", "|---|---|---|---|"]
            lines += [f"| {' | '.join(row)} |" for row in rows]
            made += self.parse_text_to_nodes("\n".join(lines) + "\n", allow_section_headings=True)
        return made


def described(system: Any) -> tuple[str, str, str, str]:
    """One row of the table, in Markdown."""
    convention = system.convention
    said = convention.to_dict()
    names = "<br>".join(f"`{name}`" for name in (system.name, *system.aliases))
    layout = f"{convention.layout}, {convention.order}"
    for shown in SHOWN:
        said.pop(shown, None)
    frequencies = said.pop("frequencies", None)
    rest = [f"`{key}={json.dumps(value)}`" for key, value in said.items()]
    if frequencies is not None:
        rest.append(f"{len(frequencies)} given frequencies")
    return names, layout, ladder(convention), "<br>".join(rest) or "as in the paper"


def ladder(convention: Any) -> str:
    """How the frequencies are made, in a few words."""
    if convention.spacing == "explicit":
        return "given"
    end = f"to {convention.last:g}" if isinstance(convention.last, float | int) else f"base {convention.base:g}"
    if convention.last is not None and not isinstance(convention.last, float | int):
        end = "to one end for each axis"
    kind = "" if convention.spacing == "geometric" else f"{convention.spacing}, "
    shift = f", end {'in' if convention.endpoint_shift == 1 else convention.endpoint_shift}"
    return f"{kind}first {convention.first:g}, {end}{shift if convention.endpoint_shift else ''}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two directives."""
    app.add_directive("command-help", CommandHelp)
    app.add_directive("convention-table", ConventionTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

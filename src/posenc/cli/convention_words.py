"""A convention in words: how it differs from the paper, and what it computes."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..convention import Convention
    from ..frequency import Stretch

_ODD = {
    "truncate": "",
    "pad": "odd widths get zeros",
    "round-up": "odd widths are cut from the next",
    "refuse": "odd widths refused",
}
_AXIS_LAYOUT = {
    "outer": "",
    "middle": "axes inside halves",
    "inner": "axes under each member",
    "sum": "angles of the axes added",
}
_INPUT = {
    "none": "",
    "prefix": "input in front",
    "suffix": "input behind",
    "suffix-per-axis": "input behind each axis",
}


def number(value: float) -> str:
    """A number as short as it can be said, as a multiple of pi where it is one.

    >>> number(10000), number(2 * math.pi), number(112 * math.pi), number(math.pi), number(0.5), number(1e-6)
    ('10000', '2 pi', '112 pi', 'pi', '0.5', '1e-6')
    """
    times = round(value / math.pi)
    if times and math.isclose(value, times * math.pi, rel_tol=1e-14):
        return "pi" if times == 1 else f"{times} pi"
    return f"{value:.7g}".replace("e-0", "e-")


def _each(value: Any) -> str:
    return "(" + ", ".join(map(number, value)) + ")" if isinstance(value, tuple) else number(value)


def _plus(offset: Any) -> str:
    return f"- {number(-offset)}" if not isinstance(offset, tuple) and offset < 0 else f"+ {_each(offset)}"


def _ladder(convention: Convention) -> list[str]:
    if convention.spacing == "explicit":
        return ["frequencies drawn or learned" if convention.frequencies is None else "frequencies given"]
    if convention.spacing == "powers":
        return [f"frequencies {_powers(convention)}"]
    if convention.last is not None:
        evenly = "evenly" if convention.spacing == "linear" else "by one ratio"
        said = [f"frequencies {evenly} from {number(convention.first)} to {_each(convention.last)}"]
    else:
        said = [f"base {number(convention.base)}"] if convention.base != 10000 else []
        said += [f"first frequency {number(convention.first)}"] if convention.first != 1 else []
    # From one frequency to another takes both in, where nothing is said.
    natural = 1 if convention.last is not None else 0
    if convention.endpoint_shift == natural:
        return said
    ends = {0: "ladder without its end", 1: "ladder to its end"}
    shift = convention.endpoint_shift
    return [ends[int(shift)] if shift in ends else f"ladder's end moved by {number(shift)}", *said]


def _powers(convention: Convention) -> str:
    ratio = 1 / convention.base
    times = f"{number(convention.first)} * " if convention.first != 1 else ""
    return f"{times}{number(ratio)}^k"


def _position(convention: Convention) -> list[str]:
    said = []
    scale, offset = convention.position_scale, convention.position_offset
    if scale == -1 and not isinstance(offset, tuple):
        said.append(f"positions count down from {number(-offset)}")
    else:
        said += [f"positions times {_each(scale)}"] if scale != 1 else []
        said += [f"positions {_plus(offset)}"] if offset else []
    if convention.position_sign == "dropped":
        said.append("distances without their sign")
    if convention.numbering == "tokens":
        said.append("padding not counted")
    return said


def _map(convention: Convention) -> list[str]:
    said = []
    if convention.cells == "centres":
        said.append("cells by their centres")
    elif convention.cells == "first-to-last":
        said.append("cells from the first to the last")
    elif convention.cells == "fractions":
        said.append(f"cells as {fraction(convention)}")
    elif convention.cells == "ends":
        said.append("cells from -1 to 1")
    if convention.trained_size:
        said.append(f"maps brought to {convention.trained_size}")
    return said


def fraction(convention: Convention) -> str:
    """What a map makes of index i, where it divides by its size."""
    origin, epsilon = convention.cell_origin, convention.cell_epsilon
    top = f"(i + {number(origin)})" if origin else "i"
    return f"{top} / {f'(size + {number(epsilon)})' if epsilon else 'size'}"


def differs(convention: Convention) -> list[str]:
    """What differs from the paper, in short words; nothing where nothing does.

    >>> from posenc import conventions
    >>> differs(conventions["openai-whisper"])
    ['halves', 'ladder to its end', 'odd widths refused']
    """
    c = convention
    said = [", ".join(c.axes)] if c.axes else []
    said += ["halves"] if c.layout == "halves" else []
    said += ["cosine first"] if c.order == "cosine-first" else []
    said.append(_AXIS_LAYOUT[c.axis_layout])
    said += ["widths " + " : ".join(map(str, c.axis_shares))] if c.axis_shares else []
    said += _ladder(c)
    said += ["exponent counts columns"] if c.pairing == "columns" else []
    said += _position(c) + _map(c)
    if c.gain != 1:
        said.append("values times dim^(-1/2)" if isinstance(c.gain, str) else f"values times {number(c.gain)}")
    if c.zero_rows:
        said.append("a row of zeros first" if c.axes else f"zeros at {', '.join(map(str, c.zero_rows))}")
    said.append(_INPUT[c.include_input])
    said += _turned(c)
    said += [f"standardised over {c.standardised_rows} rows"] if c.standardised_rows else []
    # Of several axes hardly a system takes widths that do not divide: only those are worth a word.
    said.append(_ODD[c.odd] if not c.axes else "" if c.odd == "refuse" else _ODD[c.odd].replace("odd", "other"))
    return [each for each in said if each]


def _turned(convention: Convention) -> list[str]:
    """The part of a head that turns, and the rule that stretches the ladder."""
    width, rule = convention.rotary_dim, convention.stretch
    said = []
    if width is not None:
        said.append(f"turns {number(width)} of a head" if isinstance(width, float) else f"turns {width} columns")
    if rule is not None:
        numbers = [f"{name} {_value(getattr(rule, name))}" for name in _numbers(rule)]
        said.append(f"stretched by {' '.join([rule.kind, *numbers])}")
    return said


def _numbers(rule: Stretch) -> list[str]:
    """The fields of a rule that are not what they are by default."""
    return [f.name for f in fields(rule) if f.name != "kind" and getattr(rule, f.name) != f.default]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else _each(value)


def turning(convention: Convention) -> list[str]:
    """How a rotary convention turns a head, in short words, the plain ones too.

    >>> from posenc import conventions
    >>> turning(conventions["llama"]), turning(conventions["torchtune-llama3"])
    (['halves', 'base 10000'], ['interleaved', 'base 500000', 'stretched by llama3 factor 8 trained 8192'])
    """
    c = convention
    said = [", ".join(c.axes)] if c.axes else []
    said += [c.layout, _AXIS_LAYOUT[c.axis_layout]]
    plain = c.spacing == "geometric" and c.last is None and c.base == 10000
    said += ["base 10000"] if plain else []
    return [each for each in [*said, *_ladder(c), *_position(c), *_turned(c)] if each]


def stretch(convention: Convention) -> str | None:
    """What the rule that stretches the ladder does, with its numbers; None without one.

    >>> from posenc import conventions
    >>> stretch(conventions["rotary-embedding-torch-ntk4-interp2"])
    'the base becomes 10000 * 4^(n / (n - 1)) for n pairs'
    """
    from ..frequency import RULES

    rule = convention.stretch
    if rule is None:
        return None
    said = {f.name: _value(getattr(rule, f.name)) for f in fields(rule)}
    return RULES[rule.kind].words.format(**said, base=number(convention.base), less=number(rule.factor - 1))


def frequency(convention: Convention, pairs: int, span: float) -> str:
    """The frequency of pair k as a formula with its numbers.

    >>> from posenc import conventions
    >>> frequency(conventions["transformer"], 32, 32)
    'w_k = 10000^(-k / 32), k = 0 .. 31'
    """
    c, end = convention, f"k = 0 .. {pairs - 1}"
    if c.spacing == "explicit":
        return "w_k are those of the model: pass them to with_frequencies"
    if c.spacing == "powers":
        return f"w_k = {_powers(c)}, {end}"
    times = f"{number(c.first)} * " if c.first != 1 else ""
    if c.last is not None and c.endpoint_shift == 1:
        evenly = "evenly" if c.spacing == "linear" else "by one ratio"
        return f"w_k goes {evenly} from {number(c.first)} to {_each(c.last)}, {end}"
    if c.spacing == "linear":
        return f"w_k = {number(c.first)} + ({_each(c.last)} - {number(c.first)}) * k / {number(span)}, {end}"
    if c.last is not None:
        return f"w_k = {times}({_each(c.last)} / {number(c.first)})^(k / {number(span)}), {end}"
    if c.pairing == "columns":
        return f"w_j = {times}{number(c.base)}^(-j / {number(span)}), j = 0 .. {2 * pairs - 1}, one for each column"
    return f"w_k = {times}{number(c.base)}^(-k / {number(span)}), {end}"


def angle(convention: Convention, place: str) -> str:
    """What sine and cosine are taken of.

    >>> from posenc import conventions
    >>> angle(conventions["fairseq"], "p")
    'w_k * (p + 2)'
    """
    offset, scale = convention.position_offset, convention.position_scale
    turn = "w_k" if convention.pairing == "pairs" else "w_j"
    if scale == -1 and not isinstance(offset, tuple):
        return f"{turn} * ({number(-offset)} - {place})"
    place = f"|{place}|" if convention.position_sign == "dropped" else place
    place = f"({place} {_plus(offset)})" if offset else place
    return f"{turn} * {f'{_each(scale)} * ' if scale != 1 else ''}{place}"

"""What the options of a convention may be, alone and together; everything else is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from ..arguments.numbers import LARGEST, is_number
from ..errors import ConventionError, refuse, shown
from ..frequency import Stretch
from ..layout import AxisLayout, Layout, Order
from ..recipes import RECIPES

Odd = Literal["truncate", "pad", "round-up", "refuse"]
Numbering = Literal["columns", "tokens"]
Spacing = Literal["geometric", "powers", "linear", "explicit"]
Sign = Literal["kept", "dropped"]
Pairing = Literal["pairs", "columns"]
Cells = Literal["corners", "centres", "first-to-last", "fractions", "ends"]
IncludeInput = Literal["none", "prefix", "suffix", "suffix-per-axis"]
AxesLayout = Literal[AxisLayout, "sum"]
Gain = float | Literal["inverse-root"]

# Axes in the order in which positions hold them, whatever the order of their columns.
AXES = ("time", "depth", "row", "column", "x", "y", "z", "x1", "y1", "x2", "y2")

CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "order": get_args(Order),
    "odd": get_args(Odd),
    "numbering": get_args(Numbering),
    "spacing": get_args(Spacing),
    "position_sign": get_args(Sign),
    "pairing": get_args(Pairing),
    "cells": get_args(Cells),
    "include_input": get_args(IncludeInput),
    "axis_layout": get_args(AxesLayout),
    "arithmetic": ("exact", *RECIPES),
}
_NUMBERS = ("base", "first", "endpoint_shift", "cell_origin", "cell_epsilon")
_PER_AXIS = ("last", "position_offset", "position_scale")


def check(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse options of the wrong kind, and those that do not go together."""
    for option, choices in CHOICES.items():
        value = options[option]
        if not isinstance(value, str) or value not in choices:
            wanted = " or ".join(repr(choice) for choice in choices)
            _refuse(f"{option}={shown(value)}", wanted, "choose one of these")
    recipe = options["released_as"]
    if not isinstance(recipe, (str, type(None))) or (recipe is not None and recipe not in RECIPES):
        _refuse(f"released_as={shown(recipe)}", "None or one of posenc.recipes.RECIPES", "leave it out")
    if not isinstance(options["name"], (str, type(None))):
        _refuse(f"name={shown(options['name'])}", "None or a string", "leave it out")
    for option in _NUMBERS:
        _check_number(option, options[option])
    axes = _check_axes(options["axes"])
    for option in _PER_AXIS:
        _check_per_axis(option, options[option], axes)
    for option in ("base", "first"):
        if options[option] <= 0:
            _refuse(f"{option}={shown(options[option])}", "a number above zero", "leave it out for that of the paper")
    _check_tuples(options)
    _check_rotary(options["rotary_dim"])
    if options["stretch"] is not None and not isinstance(options["stretch"], Stretch):
        _refuse(
            f"stretch={shown(options['stretch'])}",
            "None or a posenc.frequency.Stretch",
            'as Stretch(kind="linear", factor=4)',
        )
    _check_gain(options["gain"])
    _check_together(options, defaults, axes)


def _refuse(got: str, wanted: str, fix: str) -> None:
    refuse(got, wanted, fix, error=ConventionError)


def _check_number(option: str, value: Any) -> None:
    if not is_number(value):
        _refuse(f"{option}={shown(value)}", f"a finite number below {LARGEST:.3g}", "pass an int or a float")
    if option == "position_offset" and abs(value) >= 2.0**63:
        _refuse(f"{option}={shown(value)}", "a magnitude below 2^63", "positions are int64")
    if option == "position_scale" and value == 0:
        _refuse(f"{option}={shown(value)}", "a number that is not zero", "use 1 for positions as they are")
    if option == "last" and value <= 0:
        _refuse(f"{option}={shown(value)}", "a number above zero", "pass the frequency at the end of the ladder")
    if option == "cell_epsilon" and value < 0:
        _refuse(f"{option}={shown(value)}", "a number of at least zero", "leave it out for an exact division")


def _check_per_axis(option: str, value: Any, axes: int) -> None:
    if value is None and option == "last":
        return
    if not isinstance(value, tuple):
        _check_number(option, value)
        return
    if len(value) != axes or axes == 1:
        _refuse(
            f"{option}={shown(value)}",
            f"one number, or a tuple of one for each of {axes} axes" if axes > 1 else "one number: there is one axis",
            "pass one number for all",
        )
    for each in value:
        _check_number(option, each)


def _check_axes(axes: Any) -> int:
    sound = isinstance(axes, tuple) and all(axis in AXES for axis in axes) and len(set(axes)) == len(axes)
    if not sound or len(axes) == 1:
        _refuse(
            f"axes={shown(axes)}",
            f"() for one axis, or a tuple of at least two of {', '.join(AXES)}",
            'name them in the order of their columns, as in axes=("column", "row")',
        )
    return max(1, len(axes))


def _check_tuples(options: Mapping[str, Any]) -> None:
    names = options["state_names"]
    if not isinstance(names, tuple) or not all(isinstance(key, str) for key in names):
        _refuse(f"state_names={shown(names)}", "a tuple of strings", 'write it as ("weight",)')
    for option in ("zero_rows", "axis_shares"):
        value = options[option]
        sound = isinstance(value, tuple) and all(isinstance(n, int) and not isinstance(n, bool) for n in value)
        if not sound or (option == "axis_shares" and any(n < 1 for n in value)):
            _refuse(
                f"{option}={shown(value)}",
                "a tuple of ints" if option == "zero_rows" else "a tuple of ints above zero",
                f"write it as {'(0,)' if option == 'zero_rows' else '(2, 3, 3)'}",
            )
    if any(abs(row) >= 1 << 63 for row in options["zero_rows"]):
        _refuse(f"zero_rows={shown(options['zero_rows'])}", "magnitudes below 2^63", "positions are int64")
    for option in ("trained_size", "standardised_rows"):
        value = options[option]
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 2):
            _refuse(
                f"{option}={shown(value)}", "None or an int of at least 2", "pass the number of the system's training"
            )


def _check_rotary(width: Any) -> None:
    if width is None:
        return
    _check_number("rotary_dim", width)
    sound = width >= 2 and width % 2 == 0 if isinstance(width, int) else 0 < width <= 1
    if not sound:
        _refuse(
            f"rotary_dim={shown(width)}",
            "an even int of at least 2, or a fraction up to 1.0",
            "leave it out for whole heads",
        )


def _check_gain(gain: Any) -> None:
    if isinstance(gain, str):
        if gain != "inverse-root":
            _refuse(f"gain={shown(gain)}", "a number or 'inverse-root', which is dim^-0.5", "choose one of these")
        return
    _check_number("gain", gain)
    if gain == 0:
        _refuse("gain=0", "a number that is not zero", "leave it out")


def _check_frequencies(options: Mapping[str, Any], axes: int) -> None:
    given = options["frequencies"]
    if given is None:
        return
    rows = given if isinstance(given, tuple) and given and isinstance(given[0], tuple) else (given,)
    shape = {len(row) if isinstance(row, tuple) else None for row in rows}
    if shape == {0}:
        _refuse(f"frequencies={shown(given)}", "at least one", "pass the frequency of every pair")
    if not isinstance(given, tuple) or len(rows) not in (1, axes) or len(shape) != 1:
        _refuse(
            f"frequencies of type {type(given).__name__}"
            if not isinstance(given, tuple)
            else f"{len(rows)} rows of frequencies",
            f"a tuple of numbers{f', or {axes} tuples of one length, one for each axis' if axes > 1 else ''}",
            "use Convention.with_frequencies for a tensor",
        )
    for row in rows:
        for value in row:
            _check_number("frequencies", value)


def _check_arithmetic(options: Mapping[str, Any]) -> None:
    """A recipe that would leave out a part of the ladder is refused."""
    recipe, spacing, shift = options["arithmetic"], options["spacing"], options["endpoint_shift"]
    fits, wanted = options["first"] == 1 or recipe in ("exact", "exp"), "first=1, which it takes for granted"
    if recipe in ("octaves", "octaves-shifted"):
        fits = fits and spacing == "powers" and options["base"] == 0.5
        wanted = "spacing='powers' with first=1 and base=0.5, which it takes for granted"
    elif recipe in ("linspace-pi", "bands-pi"):
        fits, wanted = spacing == "linear" and shift == 1, "spacing='linear' with endpoint_shift=1"
    elif recipe in ("log-bands-pi", "periods"):
        fits = spacing == "geometric" and shift == 1 and options["odd"] != "truncate"
        wanted = "spacing='geometric' with endpoint_shift=1, and odd widths that are not truncated"
    elif recipe == "turns":
        fits, wanted = spacing == "explicit", "spacing='explicit'"
    if not fits:
        _refuse(f"arithmetic={recipe!r}", wanted, "choose another recipe, or 'exact'")


def _check_together(options: Mapping[str, Any], defaults: Mapping[str, Any], axes: int) -> None:
    """Options that mean nothing beside others are refused, never ignored."""
    _check_frequencies(options, axes)
    _check_arithmetic(options)

    def only(names: tuple[str, ...], why: str, fix: str = "leave it out") -> None:
        for name in names:
            if options[name] != defaults[name]:
                _refuse(f"{name}={shown(options[name])}", why, fix)

    spacing = options["spacing"]
    if options["last"] is not None:
        only(("base",), "no base beside `last`: base is first / last")
    if spacing == "linear" and options["last"] is None:
        _refuse("spacing='linear' without last", "the last frequency", "pass last, as in last=351.86")
    if spacing == "powers":
        only(
            ("last", "endpoint_shift"),
            "nothing but `first` and `base` for powers: each frequency is the one before / base",
        )
    if spacing == "explicit":
        only(("base", "first", "last", "endpoint_shift"), "no law beside explicit frequencies")
    else:
        only(("frequencies",), "spacing='explicit' where frequencies are given", "pass spacing='explicit' too")
    if axes == 1:
        only(
            ("axis_layout", "axis_shares", "cells", "trained_size"),
            "several axes where they are laid out",
            "pass axes too",
        )
        if options["include_input"] == "suffix-per-axis":
            _refuse("include_input='suffix-per-axis'", "several axes", "pass 'suffix'")
    shares = options["axis_shares"]
    outer = options["axis_layout"] == "outer" and options["include_input"] == "none"
    if shares and (len(shares) != axes or not outer):
        _refuse(
            f"axis_shares={shown(shares)}",
            f"one share for each of {axes} axes, laid out 'outer', without input",
            "leave it out for equal widths",
        )
    if options["cells"] != "fractions":
        only(("cell_origin", "cell_epsilon"), "cells='fractions' where a cell is divided by the size of its map")
    if options["cells"] in ("fractions", "ends"):
        only(("trained_size",), "no trained size where coordinates are relative to the map")
    if options["axis_layout"] == "sum" and spacing != "explicit":
        _refuse("axis_layout='sum'", "explicit frequencies, a row for each axis", "pass spacing='explicit'")
    paper = spacing == "geometric" and options["layout"] == "interleaved" and options["order"] == "sine-first"
    if options["pairing"] == "columns" and (axes > 1 or not paper or options["include_input"] != "none"):
        _refuse("pairing='columns'", "one axis, geometric, interleaved, sine first, without input", "leave it out")
    filled = options["odd"] == "refuse" and options["include_input"] == "none"
    if options["standardised_rows"] and (axes > 1 or not filled):
        wanted = "one axis and odd='refuse', without input, so that every column holds waves"
        _refuse(f"standardised_rows={shown(options['standardised_rows'])}", wanted, "leave it out")
    if options["include_input"] == "suffix-per-axis" and options["axis_layout"] != "outer":
        _refuse("include_input='suffix-per-axis'", "axis_layout='outer'", "pass 'suffix'")

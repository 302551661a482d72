"""What the command line draws with: heat maps of any width, numbers that do not flatter."""

import pytest

from posenc.cli import heat_map, page
from posenc.plots.cividis import CIVIDIS


def test_the_heat_map_is_coloured_where_there_is_colour():
    (_, plain), (_, coloured) = (
        heat_map.heat_map(["dog"], [[-1.0, 1.0]], width=80, colour=colour) for colour in ("none", "cividis")
    )

    assert plain.plain == "      dog   0   @"
    assert coloured.plain == "      dog   0    "
    assert [str(span.style) for span in coloured.spans] == ["on #00224e", "on #fee838"]


def test_the_heat_map_puts_sines_before_cosines():
    lines = heat_map.heat_map(["a"], [[-1.0, 1.0, 0.0, -1.0]], width=80, colour="none")

    assert lines[1].plain[heat_map.LABEL :] == " = @ "


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("dim", [8, 64, 512])
def test_the_heat_map_fits_the_width(width, dim):
    lines = heat_map.heat_map(["狗咬人狗咬人狗咬人"], [[0.5] * dim], width=width, colour="none")

    assert max(line.cell_len for line in lines) <= min(width, 79)


def test_the_brightness_of_the_colours_rises_all_the_way():
    def brightness(colour):
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    steps = [brightness(colour) for colour in CIVIDIS]
    assert steps == sorted(steps)


def test_per_cent_says_all_only_for_all():
    assert [page.percent(share) for share in (1.0, 0.99996, 0.9985, 0.5, 0.0)] == [
        "100.00 %",
        "99.99 %",
        "99.85 %",
        "50.00 %",
        "0.00 %",
    ]

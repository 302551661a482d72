"""The pictures show what torch holds: every pixel of the heat map, also in grey, and no wave that is not there."""

import pytest
import torch
from tests.browser.controls import settle

import posenc
from posenc.explorer.state import CHOICES

# Rows beyond this are not drawn one by one.
MOST_ROWS = 512


def pixels(page, name):
    """The pixels of a canvas (rows, columns, 3), one for each value, as 8-bit numbers."""
    page.locator(f"#{name}").scroll_into_view_if_needed()
    settle(page)
    width, height, data = page.evaluate(
        """name => {
            const canvas = document.getElementById(name)
            const { width, height } = canvas
            return [width, height, Array.from(canvas.getContext("2d").getImageData(0, 0, width, height).data)]
        }""",
        name,
    )
    return torch.tensor(data, dtype=torch.float64).view(height, width, 4)[..., :3]


def brightness(colours):
    """Relative luminance of sRGB, 0 to 1, as WCAG defines it: what is left in grey."""
    share = colours / 255
    linear = torch.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ torch.tensor([0.2126, 0.7152, 0.0722], dtype=torch.float64)


@pytest.mark.parametrize("convention", CHOICES["convention"])
def test_every_pixel_of_the_heat_map_is_as_bright_as_its_value_is_large(opened, convention):
    seen = brightness(pixels(opened(state={"dim": 32, "length": 128, "convention": convention}), "heat-canvas"))
    values = posenc.table(128, 32, convention, dtype=torch.float64)
    assert seen.shape == values.shape
    in_order = seen.flatten()[values.flatten().argsort()]

    # Brighter with each larger value, but for the rounding of colours to 1/255, which can cost 2/255 of the brightness.
    assert (in_order - in_order.cummax(dim=0).values).min() > -2 / 255
    # The sign is not lost in grey: contrast of the two ends, where 1 is none and 4.5 is what small words need.
    assert (in_order[-1] + 0.05) / (in_order[0] + 0.05) > 4.5


def test_red_and_blue_lose_the_sign_in_grey_as_the_page_says_of_them(opened):
    page = opened(state={"dim": 32, "length": 128, "colours": "red-blue"})
    seen = brightness(pixels(page, "heat-canvas"))
    values = posenc.table(128, 32, dtype=torch.float64)

    assert (seen[values > 0.99].mean() / seen[values < -0.99].mean() - 1).abs() < 0.1


@pytest.mark.parametrize("length", [512, 1024, 8192])
def test_columns_that_would_show_waves_that_are_not_there_are_marked(opened, length):
    page = opened(state={"dim": 64, "length": length})
    seen = pixels(page, "heat-canvas")
    stride = length // min(length, MOST_ROWS)
    # A wave that turns more than once in two drawn rows looks like a slower one.
    false = (posenc.wavelengths(64) < 2 * stride).repeat_interleave(2) & torch.tensor(stride > 1)
    # The mark is grey; of the colours of the map only the middle is nearly so, and no column has that alone.
    grey = ((seen.amax(dim=2) - seen.amin(dim=2)) == 0).all(dim=0)

    assert seen.shape[0] == min(length, MOST_ROWS)
    assert grey.tolist() == false.tolist()
    assert page.evaluate("document.body.innerText").count("hatched") == (1 if stride > 1 else 0)
    if stride > 1:
        assert f"{int(false.sum())} columns are hatched" in page.locator("#heat-caption").inner_text()

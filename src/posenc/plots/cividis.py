"""Cividis, the colours of values: they keep their order in grey, and for every kind of sight."""

from __future__ import annotations

# From -1 to 1 in seventeen steps. Red and blue would be the same grey at both ends, so the sign would be lost.
CIVIDIS = (
    *("#00224e", "#002e6a", "#1a386f", "#32436d", "#434e6c", "#535a6d", "#61656f", "#6f7073"),
    *("#7d7c78", "#8c8878", "#9b9476", "#aba072", "#bcae6c", "#cdbb63", "#dec958", "#f0d846"),
    "#fee838",
)


def palette(count: int) -> list[tuple[int, int, int]]:
    """So many colours from dark to bright, red, green and blue from 0 to 255, in even steps between the seventeen.

    >>> palette(2), palette(33)[16] == palette(17)[8]
    ([(0, 34, 78), (254, 232, 56)], True)
    """
    fixed = [tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in CIVIDIS]
    found = []
    for index in range(count):
        place = index * (len(fixed) - 1) / max(1, count - 1)
        low = min(int(place), len(fixed) - 2)
        share = place - low
        red, green, blue = (round(a + (b - a) * share) for a, b in zip(fixed[low], fixed[low + 1], strict=True))
        found.append((red, green, blue))
    return found

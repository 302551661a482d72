"""Every picture at the ends of its parameters: no words on others, none cut off, nothing on the picture."""

import pytest

from posenc import Convention, plots

pytest.importorskip("matplotlib", reason="matplotlib is an extra")

DRAWN = {
    **{f"heat {n} {d}": lambda n=n, d=d: plots.heat_map(n, d) for n in (1, 2, 10_000) for d in (1, 2, 7, 2000)},
    **{f"waves {n} {d}": lambda n=n, d=d: plots.waves(n, d) for n in (1, 2, 10_000) for d in (1, 2, 7)},
    **{f"turns {d}": lambda d=d: plots.wavelengths(d) for d in (1, 2, 7, 2000)},
    **{f"curve {n} {d}": lambda n=n, d=d: plots.similarity(n, d) for n in (1, 2, 10_000) for d in (2, 64)},
    **{f"matrix {n} {d}": lambda n=n, d=d: plots.similarity_matrix(n, d) for n in (1, 2, 400) for d in (2, 64)},
    **{f"clocks {n} {d}": lambda n=n, d=d: plots.clocks(range(n), d) for n in (1, 4, 8) for d in (2, 7, 64)},
    **{f"turned {n}": lambda n=n: plots.clocks(range(n), 64, offset=3) for n in (1, 4, 8)},
    "clocks": lambda: plots.clocks([0, 1, 10**6, 2**62], 512, offset=-3),
    **{f"spectrum {n} {d}": lambda n=n, d=d: plots.spectrum(n, d) for n in (1, 2, 2000) for d in (1, 2, 7, 64)},
    **{f"error {d}": lambda d=d: plots.error(d) for d in (1, 2, 7)},
    "error of one": lambda: plots.error(8, positions=[5]),
    "compare": lambda: plots.compare(10_000, 64, "fairseq", "tensor2tensor"),
    "compare small": lambda: plots.compare(1, 2, "transformer", Convention(layout="halves", position_offset=1)),
    "long name": lambda: plots.waves(8, 4, Convention(base=123.456, position_scale=0.125, position_offset=3, gain=2)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_words_lie_within_the_figure_and_on_no_other_words(name):
    figure = DRAWN[name]()
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(lambda artist: hasattr(artist, "get_text")) if text.get_text().strip()]
    shown = [text for text in texts if text.get_visible() and text.get_window_extent().width > 0]
    boxes = [text.get_window_extent() for text in figure.texts]

    assert len(shown) > 3
    assert not any(a.overlaps(b) for index, a in enumerate(boxes) for b in boxes[:index])
    for axes in figure.axes:
        tight = axes.get_tightbbox()
        assert tight.x0 >= -1
        assert tight.y0 >= -1
        assert tight.x1 <= figure.bbox.x1 + 1
        # What is written above stays clear of the picture.
        assert tight.y1 <= min(box.y0 for box in boxes) + 1

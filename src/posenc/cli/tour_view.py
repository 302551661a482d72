"""Draws each station of the tour: what was measured, and one sentence on what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import heat_map
from .page import Page, bar, count, number, percent, places

LAYERS = ("MultiheadAttention", "TransformerEncoderLayer")
NAMES = {"none": "without positions", "sinusoidal": "with the encoding"}
BAR = 30


def draw(page: Page, name: str, data: dict[str, Any]) -> None:
    """Draw the station of this name."""
    STATIONS[name](page, data)


def _text(page: Page, data: dict[str, Any]) -> None:
    part = "" if data["part"] == "all" else "The first "
    story = ", the story that comes with posenc" if data["source"] == "story" else ""
    page.console.print(f"posenc tour: {data['name']}{story}", style="bold")
    page.console.print()
    more = "" if data["part"] == "all" else " The tour reads no further."
    page.say(
        f"{part}{count(data['words'])} words, {count(data['distinct_words'])} of them different: {data['rule']}.{more}"
    )


def _order(page: Page, data: dict[str, Any]) -> None:
    page.heading("Attention cannot see order until it is told the positions")
    page.say(
        "Two layers of torch, untrained, in eval mode. Each word is a random vector of "
        f"{data['dim']} numbers, and the same word is the same vector."
    )
    shuffle, sentences = data["shuffle"], data["sentences"]
    page.say(
        f"Shuffle the {count(shuffle['words'])} words. If order means nothing to a layer, its outputs are "
        "shuffled too, and nothing else changes. The largest change:"
    )
    _pairs(page, shuffle)
    first, second = (" ".join(sentences[which]) for which in ("first", "second"))
    page.say(f'Now "{first}" and "{second}". Pool each to its mean output. The largest difference:')
    _pairs(page, sentences)
    if sentences["order"] == "same":
        page.say("These two are the same sentence, so nothing can tell them apart.")
    elif sentences["words"] == "different":
        page.say(
            "These two sentences do not hold the same words, so they differ even without positions. "
            "Try two that differ in order alone."
        )
    page.say(
        "What shrinks in double precision was rounding; what stays is a difference. "
        "Without positions a shuffle leaves rounding only: the layer cannot see order. "
        "With the encoding added to the words it can."
    )


def _pairs(page: Page, found: dict[str, Any]) -> None:
    rows = []
    for layer in LAYERS:
        for precision, title in (("float32", layer), ("float64", "  in double precision")):
            rows.append([title, *(number(found[layer][positions][precision]) for positions in NAMES)])
    page.columns(rows, header=["", *NAMES.values()])


def _encoding(page: Page, data: dict[str, Any]) -> None:
    page.heading("The encoding: a vector for each position, added to the word")
    values = data["values"]
    for line in heat_map.heat_map(data["words"], values, width=page.width, colour=page.colour):
        page.console.print(line)
    page.console.print()
    page.say(heat_map.key(len(values[0]), width=page.width, colour=page.colour))


def _wavelengths(page: Page, data: dict[str, Any]) -> None:
    page.heading("A row of clocks, each slower than the one before")
    pairs, words = data["pairs"], data["words"]
    rows = [
        [f"pair {i}", places(data["all"][i]), number(words / data["all"][i])]
        for i in sorted({0, pairs // 4, pairs // 2, 3 * pairs // 4, pairs - 1})
    ]
    page.columns(rows, header=["", "positions a turn", "turns in this text"])
    dim = data["dim"]
    page.say(
        f"From 2π = {places(data['formula_first'])} to 2π·10000^({dim - 2}/{dim}) = "
        f"{places(data['formula_last'])}, as the formula says. {data['longer_than_text']} of the {pairs} "
        "pairs do not come round once in this text."
    )


def _uniqueness(page: Page, data: dict[str, Any]) -> None:
    page.heading("No two positions alike")
    here, there = data["positions"]
    page.say(
        f"Of {count(data['pairs_compared'])} pairs of rows, those of positions {here} and {there} are the "
        f"closest (or as close as any). Their distance is {number(data['smallest_distance'])}."
    )


def _size(page: Page, data: dict[str, Any]) -> None:
    page.heading("Never too large for the words")
    ends = (("value", "value"), ("norm of a row", "norm"))
    rows = [[title, *(f"{data[f'{end}_{what}']:.12f}" for end in ("smallest", "largest"))] for title, what in ends]
    page.columns(rows, header=["", "smallest", "largest"])
    page.say(
        f"Each value is a sine or a cosine, and every row is as long as the next: "
        f"sqrt({data['dim']}/2) = {data['formula_norm']:.12f}."
    )


def _rotation(page: Page, data: dict[str, Any]) -> None:
    page.heading("A step ahead is a rotation")
    page.say("M_k is made from the distance k alone. Does it take the row of p to the row of p + k, for all p?")
    rows = [
        [f"M_{o['offset']}", count(o["rows"]), number(o["residual"]), number(o["orthogonality"])]
        for o in data["offsets"]
    ]
    page.columns(rows, header=["", "rows", "max |M_k PE(p) - PE(p+k)|", "max |MᵀM - 1|"])
    (a, b), (c, d) = data["first_block_of_M_1"]
    page.say(f"M_1 turns the first pair by one radian: [{a:.4f} {b:.4f}; {c:.4f} {d:.4f}].")
    page.say("So 'three words earlier' is one fixed linear map, wherever you stand.")


def _similarity(page: Page, data: dict[str, Any]) -> None:
    page.heading("Distance alone decides how alike two rows are")
    whole = data["distances"][0]["similarity"]
    rows = [
        [
            f"k = {d['distance']}",
            f"{d['similarity']:.4f}",
            bar(d["similarity"] / whole, BAR),
            number(d["spread"]),
        ]
        for d in data["distances"]
    ]
    page.columns(rows, header=["", "PE(p)·PE(p+k)", "share of k = 0", "spread over all p"])
    if data["first_rise"] is None:
        page.say("In this text it falls with every step of distance.")
    else:
        k = data["first_rise"]
        page.say(
            f"Close means alike, but not steadily: from distance {k - 1} to {k} it rises, "
            f"{data['before_first_rise']:.4f} to {data['at_first_rise']:.4f}."
        )


def _extrapolation(page: Page, data: dict[str, Any]) -> None:
    page.heading("There is a row for every position")
    page.say(
        f"A layer with max_len={data['max_len']}, asked for later positions, against the formula "
        "in arbitrary precision. The largest error in float32:"
    )
    rows = [
        [count(p["position"]), p["where"], number(p["error"]), number(p["textbook_error"])] for p in data["positions"]
    ]
    page.columns(rows, header=["position", "the table", "posenc", "textbook float32 snippet"])
    page.say(
        "Defined for every position, and as exact there as at the start. "
        "Whether a trained model can use positions that it never met is another question."
    )


def _roles(page: Page, data: dict[str, Any]) -> None:
    page.heading("Who bit whom? A model learns it, with order")
    sentences, labels = data["twins"]["sentences"], data["twins"]["labels"]
    answers = ["the animal acts" if label == 0 else "the person acts" for label in labels]
    page.columns([[s, a] for s, a in zip(sentences, answers, strict=True)])
    page.say(
        f"One model of {count(data['none']['parameters'])} parameters, trained twice on the same "
        f"{count(data['train_sentences'])} sentences. Asked {count(data['test_sentences'])} with nouns that "
        "it never saw together, each beside its twin with the nouns exchanged:"
    )
    rows = [[title, percent(data[name]["accuracy"]), bar(data[name]["accuracy"], BAR)] for name, title in NAMES.items()]
    page.columns(rows)
    bound = data["bound_without_order"]
    page.say(
        f"Without order {percent(bound['highest'])} is proven to be the most, and "
        f"{percent(bound['lowest'])} the least: twins hold the same words, so they get the same answer, and "
        "just one of the two is right."
    )


STATIONS: dict[str, Callable[[Page, dict[str, Any]], None]] = {
    "text": _text,
    "order": _order,
    "encoding": _encoding,
    "wavelengths": _wavelengths,
    "uniqueness": _uniqueness,
    "size": _size,
    "rotation": _rotation,
    "similarity": _similarity,
    "extrapolation": _extrapolation,
    "roles": _roles,
}

"""The reader's own sentences: what is said of them is true, and nothing that is written can harm the page."""

import pytest
import torch
from tests.browser.controls import settle, wide

from posenc.explorer.attention import attend

HOSTILE = "<img src=x onerror=document.title='broken'> </script><script>document.title='broken'</script> &amp; ${1}"


def said(page, first, second):
    """The verdicts without and with the encoding, for two sentences that are typed in."""
    for box, text in ((0, first), (1, second)):
        page.locator(f"#sentence-{box}").fill(text)
    settle(page)
    return tuple(page.locator(f"#verdict-{name}").inner_text() for name in ("without", "with"))


def test_the_same_words_in_another_order_are_equal_to_the_last_digit_until_positions_are_added(opened):
    page = opened()
    without, encoded = said(page, "the quick brown fox jumps over the dog", "the dog jumps over the quick brown fox")
    apart = page.evaluate(
        """([a, b]) => ["a", "b"].map((_, i) => window.posenc.attention([a, b][i], { encoding: false }).output)""",
        ["man bites dog", "dog bites man"],
    )

    assert "equal to the last digit" in without
    assert "differ" in encoded
    assert "equal to the last digit" not in encoded
    assert apart[0][0] == apart[1][2]
    assert apart[0][2] == apart[1][0]
    assert apart[0][1] == apart[1][1]


@pytest.mark.parametrize("size", [3, 50, 500])
def test_five_hundred_words_are_equal_to_the_last_digit_too(opened, size):
    page = opened()
    words = [f"word{i}" for i in range(size)]
    without, encoded = said(page, " ".join(words), " ".join(reversed(words)))

    assert without.startswith(
        f"All {size} words in common have the same output in both sentences, equal to the last digit"
    )
    assert "differ" in encoded


def test_the_difference_that_is_told_is_that_of_torch(opened):
    _, encoded = said(opened(), "man bites dog", "dog bites man")
    apart = (attend("man bites dog", "sinusoidal") - attend("dog bites man", "sinusoidal").flip(0)).abs().max().item()

    # Three digits are told.
    assert f"{apart:.3g}" in encoded or f"{apart:.2g}" in encoded, (apart, encoded)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", ""),
        ("", "dog"),
        ("  ... !!! ", "🐕 🦴"),
        ("dog", "dog"),
        ("שלום עולם טוב", "טוב עולם שלום"),
        ("مرحبا بالعالم", "بالعالم مرحبا"),
        ("👨‍👩‍👧 x🐕x", "x🐕x 👨‍👩‍👧"),
        ("word " * 700, "word " * 700),
        ("averyveryverylongword" * 40, "short"),
        ("a\u0301\u0302\u0303" * 50, "\u202eabc def"),
        (HOSTILE, HOSTILE[::-1]),
    ],
    ids=[
        "empty",
        "half empty",
        "no words",
        "same",
        "hebrew",
        "arabic",
        "emoji",
        "too many",
        "long",
        "marks",
        "hostile",
    ],
)
@pytest.mark.parametrize("size", ["wide", "phone"])
def test_any_sentence_is_taken(opened, first, second, size):
    page = opened(size=size)
    before = page.title(), page.locator("script").count()
    without, encoded = said(page, first, second)

    assert without
    assert encoded
    assert "NaN" not in page.locator("#order").inner_text()
    assert (page.title(), page.locator("script").count()) == before
    assert wide(page) == []


def test_a_page_made_by_python_with_hostile_sentences_holds_them_and_no_more(opened):
    page = opened(state={"sentences": [HOSTILE, "\u2028</script>\u2029<!--"]})

    assert page.locator("#sentence-0").input_value() == HOSTILE
    assert page.title() != "broken"
    assert page.evaluate("window.posenc.state.sentences") == [HOSTILE, "\u2028</script>\u2029<!--"]


def test_shuffled_words_are_the_same_words(opened):
    page = opened()
    said(page, "one two three four five six seven eight", "x")
    page.locator("#sentences-shuffle").click()
    settle(page)
    second = page.locator("#sentence-1").input_value()

    assert sorted(second.split()) == sorted(["one", "two", "three", "four", "five", "six", "seven", "eight"])
    assert "equal to the last digit" in page.locator("#verdict-without").inner_text()


def test_word_vectors_are_the_same_in_torch_and_the_page_for_a_word_that_both_sentences_hold(opened):
    outputs = opened().evaluate("window.posenc.attention('dog', { encoding: false }).output")

    # One word alone looks only at itself.
    assert torch.allclose(torch.tensor(outputs, dtype=torch.float64), attend("dog"), rtol=0, atol=1e-12)


def test_a_difference_that_is_rounding_is_called_so(opened):
    page = opened()
    without, encoded = said(page, "dog dog dog", "dog dog")

    assert ", which is rounding" in without
    assert ", which is rounding" in page.locator("#numbers-without").inner_text()
    assert "which is rounding" not in encoded


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ("man bites dog", "“man” as the query and “bites” as the key (the first two words of your first sentence)"),
        ("fox", "“fox” as the query and “fox” as the key (the one word of your first sentence)"),
        (
            "...",
            "“man” as the query and “dog” as the key (two words that stand in, since your first sentence has none)",
        ),
    ],
)
def test_rotary_says_whose_words_it_scores(opened, first, wanted):
    page = opened(state={"sentences": [first, "the fox runs"]})
    page.locator("#rotary-words").scroll_into_view_if_needed()

    assert wanted in page.locator("#rotary-words").inner_text()


def test_the_button_that_resets_the_sentences_says_so(opened):
    page = opened(state={"sentences": ["a b", "b a"]})
    page.get_by_role("button", name="Reset to “man bites dog”").click()

    assert page.evaluate("window.posenc.state.sentences") == ["man bites dog", "dog bites man"]

"""The text of the tour: words are split as stated, no more is read than stated, and no text is refused."""

import pytest

from posenc import tour
from posenc.errors import FileError
from posenc.tour import text


def written(tmp_path, content):
    path = tmp_path / "file.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_story_is_there_and_tells_of_the_two_sentences():
    story = text.read_text()
    words = " ".join(story.words)

    assert story.source == "story"
    assert story.part == "all"
    assert all(sentence in words for sentence in tour.SENTENCES)


def test_a_mark_at_the_start_is_no_word(tmp_path):
    assert text.read_text(written(tmp_path, b"\xef\xbb\xbfman bites")).words == ("man", "bites")


def test_a_long_text_is_cut_at_the_stated_number_of_words(tmp_path):
    words = text.read_text(written(tmp_path, "dog " * (text.MOST_WORDS + 1)))
    just = text.read_text(written(tmp_path, "dog " * text.MOST_WORDS))

    assert (len(words.words), words.part) == (text.MOST_WORDS, "start")
    assert (len(just.words), just.part) == (text.MOST_WORDS, "all")


def test_a_word_and_a_character_that_are_cut_are_left_out(tmp_path):
    # The part that is read ends in the middle of a character.
    cut = text.read_text(written(tmp_path, "man bites x" + "é" * text.MOST_BYTES))
    whole = text.read_text(written(tmp_path, "man bites" + " " * text.MOST_BYTES + "dog"))

    assert cut.part == whole.part == "start"
    assert cut.words == whole.words == ("man", "bites")


def test_no_more_is_read_than_is_needed(tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(text, "_read", lambda _path, size: sizes.append(size) or b"man bites dog")
    text.read_text("somewhere")

    assert sizes == [text.MOST_BYTES + 1]


UNREADABLE = [
    (b"", "an empty file"),
    (b"man\0dog", r"binary data \(a NUL at byte 3\)"),
    ("man bites dog".encode("utf-16"), "binary data"),
    (b"caf\xe9 au lait", r"not UTF-8 \(at byte 3\)"),
    (b"man bites\xc3", "not UTF-8"),
    (b"hello", "1 word, but wanted a text of at least two words"),
    (b"... !!! ---", "0 words"),
    (b"x" * 70_000, "0 words in the part that is read, its first 64 KiB"),
]


@pytest.mark.parametrize(("content", "message"), UNREADABLE)
def test_what_is_no_text_is_refused(tmp_path, content, message):
    with pytest.raises(FileError, match=rf"file\.txt: .*{message}"):
        text.read_text(written(tmp_path, content))


def test_a_folder_and_a_path_to_nothing_are_refused(tmp_path):
    with pytest.raises(FileError, match="a folder"):
        text.read_text(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        text.read_text(tmp_path / "nothing")
    with pytest.raises(FileError, match="not a directory"):
        text.read_text(written(tmp_path, "man bites") / "dog")
    with pytest.raises(FileError, match="null byte"):
        text.read_text("a\0b")

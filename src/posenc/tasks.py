"""Seeded tasks whose best score without order is known before anything is trained."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from .errors import refuse

PADDING = "<padding>"

PEOPLE = (
    *("man", "woman", "boy", "girl", "doctor", "farmer"),
    *("baker", "sailor", "teacher", "painter", "king", "nurse"),
)
ANIMALS = (
    *("dog", "cat", "horse", "wolf", "fox", "goat"),
    *("bear", "snake", "parrot", "hamster", "donkey", "goose"),
)
VERBS = {  # active: passive
    "bites": "bitten",
    "chases": "chased",
    "follows": "followed",
    "sees": "seen",
    "greets": "greeted",
    "scares": "scared",
}
ADJECTIVES = ("old", "young", "hungry", "tired")
ADVERBS = ("today", "yesterday", "slowly")
UNSEEN_PARTNERS = 4  # of the twelve animals, for each person
MOST_TESTS = 20_000  # of the 115 200 there are, so that drawing new ones stays quick


@dataclass(frozen=True)
class Examples:
    """Sentences (each a tuple of words), and one label for each."""

    sentences: tuple[tuple[str, ...], ...]
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A question about sentences, with examples to learn from and examples to be judged by."""

    name: str
    question: str
    vocabulary: tuple[str, ...]
    train: Examples
    test: Examples

    def bounds_without_order(self) -> tuple[Fraction, Fraction]:
        """The lowest and the highest test accuracy that a model without order can have.

        >>> roles(seed=0, train_size=1, test_size=100).bounds_without_order()
        (Fraction(1, 2), Fraction(1, 2))
        """
        return bag_bounds(self.test.sentences, self.test.labels)


def bag_bounds(sentences: Sequence[Sequence[Hashable]], labels: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The lowest and the highest accuracy of any function of the bag of words, exactly.

    A function of the bag gives one answer to all sentences with the same words.
    At best that is the commonest label of the bag, at worst the rarest.

    >>> bag_bounds([("man", "bites", "dog"), ("dog", "bites", "man")], [1, 0])
    (Fraction(1, 2), Fraction(1, 2))
    >>> bag_bounds([("a", "b"), ("b", "a"), ("a", "b")], [1, 0, 1])
    (Fraction(1, 3), Fraction(2, 3))
    """
    if len(sentences) != len(labels) or not labels:
        refuse(
            f"{len(sentences)} sentences and {len(labels)} labels",
            "at least one sentence, and one label for each",
            "pass two sequences of the same length",
        )
    bags: defaultdict[frozenset[tuple[Hashable, int]], Counter[int]] = defaultdict(Counter)
    for sentence, label in zip(sentences, labels, strict=True):
        bags[frozenset(Counter(sentence).items())][label] += 1
    answers = set(labels)
    highest = sum(max(counts.values()) for counts in bags.values())
    lowest = sum(min(counts[answer] for answer in answers) for counts in bags.values())
    return Fraction(lowest, len(labels)), Fraction(highest, len(labels))


def token_ids(sentences: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Tensor:
    """Sentences -> their places in the vocabulary, (N, longest) int64, padded on the right.

    The padding is the first word of the vocabulary.

    >>> token_ids([("man", "sleeps"), ("man",)], ("<padding>", "man", "sleeps"))
    tensor([[1, 2],
            [1, 0]])
    """
    place = {word: i for i, word in enumerate(vocabulary)}
    unknown = sorted({word for sentence in sentences for word in sentence} - place.keys())
    if unknown:
        refuse(
            f"the word {unknown[0]!r}",
            "words of the vocabulary",
            "make the sentences and the vocabulary from the same task",
        )
    length = max(len(sentence) for sentence in sentences)
    rows = [[place[word] for word in s] + [0] * (length - len(s)) for s in sentences]
    return torch.tensor(rows, dtype=torch.int64)


def roles(*, seed: int = 0, train_size: int = 20_000, test_size: int = 1_000) -> Task:
    """Who bit whom? Label 1 where the person acts on the animal, 0 where the animal acts.

    "the man bites the dog" is 1, "the dog bites the man" is 0, "the man is bitten by the dog" is 0:
    the answer needs the order of the two nouns, and the voice of the verb.
    Each noun meets four partners in the test that it never meets in training.
    The test holds every sentence together with its twin, in which the two nouns have changed places.
    Twins have the same words and opposite labels, so a model without order scores exactly one half.

    Law: bag_bounds(test) == (1/2, 1/2), for every seed.

    >>> task = roles(seed=0, train_size=1, test_size=2)
    >>> for sentence, label in zip(task.test.sentences, task.test.labels):
    ...     print(label, " ".join(sentence))
    1 today the tired boy greets the hungry cat
    0 today the tired cat greets the hungry boy
    """
    if train_size < 1 or not 2 <= test_size <= MOST_TESTS or test_size % 2:
        refuse(
            f"train_size={train_size}, test_size={test_size}",
            f"at least one sentence to train on, and an even number from 2 to {MOST_TESTS} to test on",
            "pass test_size=1000, which is 500 sentences and their twins",
        )
    chance = random.Random(seed)
    seen, unseen = _pairs(chance)
    train = [chance.choice(_twins(chance, seen)) for _ in range(train_size)]
    test: dict[tuple[str, ...], int] = {}
    while len(test) < test_size:
        # A sentence that was drawn before has brought its twin with it.
        test.update(_twins(chance, unseen))
    vocabulary = (
        *(PADDING, "the", "is", "by", *PEOPLE, *ANIMALS),
        *(*VERBS.keys(), *VERBS.values(), *ADJECTIVES, *ADVERBS),
    )
    return Task(
        name="roles",
        question="who bit whom?",
        vocabulary=vocabulary,
        train=Examples(tuple(s for s, _ in train), tuple(label for _, label in train)),
        test=Examples(tuple(test.keys()), tuple(test.values())),
    )


def _pairs(chance: random.Random) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Every person with every animal: those to train on, and those to test on."""
    people, animals = list(PEOPLE), list(ANIMALS)
    chance.shuffle(people)
    chance.shuffle(animals)
    seen: list[tuple[str, str]] = []
    unseen: list[tuple[str, str]] = []
    for i, person in enumerate(people):
        for j, animal in enumerate(animals):
            # Around a circle, so that every noun is left out with the same number of partners.
            is_unseen = (j - i) % len(animals) < UNSEEN_PARTNERS
            (unseen if is_unseen else seen).append((person, animal))
    return seen, unseen


def _twins(
    chance: random.Random, pairs: list[tuple[str, str]]
) -> tuple[tuple[tuple[str, ...], int], tuple[tuple[str, ...], int]]:
    """A sentence with its label, and its twin with the nouns exchanged."""
    person, animal = chance.choice(pairs)
    active = chance.random() < 0.5
    verb = chance.choice(list(VERBS))
    start = chance.choice(((), *((adverb,) for adverb in ADVERBS)))
    first = chance.choice(((), *((adjective,) for adjective in ADJECTIVES)))
    second = chance.choice(((), *((adjective,) for adjective in ADJECTIVES)))
    middle = (verb,) if active else ("is", VERBS[verb], "by")

    def words(subject: str, other: str) -> tuple[str, ...]:
        return (*start, "the", *first, subject, *middle, "the", *second, other)

    return (words(person, animal), int(active)), (words(animal, person), int(not active))

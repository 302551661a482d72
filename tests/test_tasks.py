"""The tasks: what the best model without order can score is counted, and the test set makes it one half."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest

from posenc import tasks
from posenc.errors import InputError

SEEDS = [0, 1, 2, 17]
NOUNS = {*tasks.PEOPLE, *tasks.ANIMALS}


def nouns(sentence):
    return tuple(word for word in sentence if word in NOUNS)


def swapped(sentence):
    first, second = nouns(sentence)
    return tuple({first: second, second: first}.get(word, word) for word in sentence)


def best_by_trial(sentences, labels):
    """The best accuracy over every way of answering bags, tried one by one."""
    bags = sorted({tuple(sorted(sentence)) for sentence in sentences})
    best = 0
    for answers in range(2 ** len(bags)):
        said = {bag: answers >> i & 1 for i, bag in enumerate(bags)}
        right = sum(said[tuple(sorted(s))] == label for s, label in zip(sentences, labels, strict=True))
        best = max(best, right)
    return Fraction(best, len(labels))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_without_order_can_score_nothing_but_one_half(seed):
    task = tasks.roles(seed=seed, train_size=1, test_size=200)

    assert task.bounds_without_order() == (Fraction(1, 2), Fraction(1, 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_test_set_is_closed_under_swapping_the_nouns(seed):
    task = tasks.roles(seed=seed, train_size=1, test_size=200)
    answers = dict(zip(task.test.sentences, task.test.labels, strict=True))

    assert len(answers) == 200
    assert all(answers[swapped(sentence)] == 1 - label for sentence, label in answers.items())


def test_twins_stand_side_by_side():
    test = tasks.roles(train_size=1, test_size=50).test.sentences

    assert [swapped(sentence) for sentence in test[0::2]] == list(test[1::2])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pairs_of_the_test_are_not_seen_in_training_and_their_nouns_are(seed):
    task = tasks.roles(seed=seed, train_size=3000, test_size=2000)
    trained = {frozenset(nouns(sentence)) for sentence in task.train.sentences}
    tested = {frozenset(nouns(sentence)) for sentence in task.test.sentences}

    assert not trained & tested
    assert set().union(*trained) == NOUNS
    assert Counter(noun for pair in tested for noun in pair) == dict.fromkeys(NOUNS, tasks.UNSEEN_PARTNERS)


def test_labels_say_who_acts():
    task = tasks.roles(train_size=500, test_size=2)
    active = set(tasks.VERBS)
    for sentence, label in zip(task.train.sentences, task.train.labels, strict=True):
        first, second = nouns(sentence)
        actor = first if active & set(sentence) else second
        assert (actor in tasks.PEOPLE) == (label == 1), sentence


def test_both_labels_and_both_orders_are_trained_alike():
    task = tasks.roles(train_size=4000, test_size=2)
    persons_first = sum(nouns(sentence)[0] in tasks.PEOPLE for sentence in task.train.sentences)

    # Six standard deviations of a fair coin thrown 4000 times are 190.
    assert abs(sum(task.train.labels) - 2000) < 190
    assert abs(persons_first - 2000) < 190


def test_a_seed_gives_the_same_task_and_another_seed_another_one():
    first, again, other = (tasks.roles(seed=seed, train_size=50, test_size=50) for seed in (3, 3, 4))

    assert first == again
    assert first.test != other.test


def test_the_bounds_are_those_of_every_function_of_the_bag():
    words = [("a", "b"), ("b", "a"), ("a", "a"), ("a", "b"), ("c",), ("c",), ("a", "a")]
    labels = [1, 0, 1, 0, 1, 0, 1]
    lowest, highest = tasks.bag_bounds(words, labels)

    assert highest == best_by_trial(words, labels) == Fraction(5, 7)
    assert lowest == 1 - best_by_trial(words, [1 - label for label in labels]) == Fraction(2, 7)


def test_the_bounds_see_a_task_that_needs_no_order():
    sentences = [*permutations(("man", "bites", "dog")), *permutations(("man", "pats", "dog"))]

    assert tasks.bag_bounds(sentences, [1] * 6 + [0] * 6) == (0, 1)


def test_a_word_twice_is_another_bag_than_once():
    assert tasks.bag_bounds([("a", "a", "b"), ("a", "b")], [0, 1]) == (0, 1)


def test_token_ids_pad_on_the_right_with_the_first_word():
    ids = tasks.token_ids([("b",), ("a", "b", "a")], ("-", "a", "b"))

    assert ids.tolist() == [[2, 0, 0], [1, 2, 1]]


REFUSED = [
    (lambda: tasks.roles(test_size=3), "test_size=3"),
    (lambda: tasks.roles(test_size=0), "test_size=0"),
    (lambda: tasks.roles(test_size=10**6), "test_size=1000000"),
    (lambda: tasks.roles(train_size=0), "train_size=0"),
    (lambda: tasks.bag_bounds([], []), "0 sentences"),
    (lambda: tasks.bag_bounds([("a",)], [1, 0]), "1 sentences and 2 labels"),
    (lambda: tasks.token_ids([("x",)], ("-", "a")), "the word 'x'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_cannot_be_made_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()

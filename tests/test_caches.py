"""The caches are bounded, count what they hold, and forget the least used first."""

import pytest
import torch
from tests.caches import forget, held_bytes
from tests.named import distinct

from posenc import Convention, RotaryEmbedding, encode, table
from posenc.encode.angles import ANGLES
from posenc.modules.beyond import BLOCKS
from posenc.trig.certify import CERTIFIED
from posenc.trig.rows import CACHE_BYTES, ROWS, Cache


@pytest.fixture(autouse=True)
def nothing_is_kept():
    forget()
    yield
    forget()


def test_caches_hold_what_they_may():
    for dim in range(200, 1300, 220):
        for name in [*distinct(), "x-transformers", "speechbrain-relposencxl"]:
            encode([2**40, -5], dim, name)
            table(300, dim, name)
        for name in ("mae-2d", "detr-2d", "timm-sincos2d-rev0-il0"):
            encode([[2**40, -5], [3, 70000]], dim, name)

    for dim in range(32, 512, 32):
        rotary, few, many = RotaryEmbedding(dim), torch.zeros(1, 1, 1, dim), torch.zeros(2, 4, 3000, dim)
        for offset in (0, 5000):
            rotary(many, many, offset=offset)
            rotary(few, few, offset=offset)

    held = held_bytes()
    assert held["rows"] == ROWS.used <= CACHE_BYTES
    assert held["turns"] == ANGLES.used <= ANGLES.limit
    assert CACHE_BYTES + CERTIFIED.limit + BLOCKS.limit + ANGLES.limit == 64 * 2**20
    assert held["repairs"] <= CERTIFIED.limit


def test_a_slow_ladder_fills_no_memory():
    # Its slowest sines lie below the error of a product of rows, so that nearly every value is in doubt.
    table(2048, 128, Convention(base=1e16))

    assert held_bytes()["repairs"] <= CERTIFIED.used <= CERTIFIED.limit


def test_a_table_that_grows_is_looked_at_once():
    # What is kept does not depend on the way there.
    slow = Convention(base=1e12)
    table(5120, 128, slow)
    at_once = held_bytes()["repairs"]
    forget()
    for length in range(256, 5121, 256):
        table(length, 128, slow)

    assert held_bytes()["repairs"] <= 1.1 * at_once


def test_the_least_used_goes_first():
    made = []
    cache = Cache(3)

    def get(key, size=1):
        return cache.get(key, lambda: made.append(key) or key, lambda _: size)

    for key in ("a", "b", "c", "a", "d", "a", "b"):
        assert get(key) == key
    assert made == ["a", "b", "c", "d", "b"]
    assert ("a" in cache, "c" in cache, cache.used) == (True, False, 3)

    assert get("large", size=4) == "large"
    assert "large" not in cache
    assert cache.used == 3
    cache.clear()
    assert ("a" in cache, cache.used) == (False, 0)


def test_a_failure_leaves_nothing_behind():
    cache = Cache(3)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0, lambda _: 1)

    assert "key" not in cache
    assert cache.get("key", lambda: 7, lambda _: 1) == 7

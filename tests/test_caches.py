"""The caches are bounded, count what they hold, and forget the least used first."""

import functools
import gc
import sys

import pytest
import torch
from tests.caches import BOUNDED, bytes_in, forget, held_bytes
from tests.named import distinct

from posenc import AlibiBias, Convention, PositionalEncoding, RotaryEmbedding, encode, shift, table
from posenc.cache import Cache
from posenc.trig.certify import CERTIFIED


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

    for dim in (512, 8192, 16384):
        for base in (100.0, 1e4, 1e6):
            shift(torch.zeros(dim), 1, Convention(base=base))
    for heads in range(1, 40):
        AlibiBias(heads)(2, 2)
    layer = PositionalEncoding(4096, max_len=4).eval()
    for offset in range(0, 3000, 256):
        layer(torch.zeros(1, 1, 4096), offset=offset)

    held = held_bytes()
    assert all(held.values())
    for name, cache in BOUNDED.items():
        # Repairs keep room for what may still be found.
        assert held[name] == cache.used or (name == "repairs" and held[name] < cache.used)
        assert cache.used <= cache.limit
    assert sum(cache.limit for cache in BOUNDED.values()) == 64 * 2**20


def test_no_other_store_holds_tensors():
    for name in distinct():
        encode([3], 16, name)
    RotaryEmbedding(16)(torch.zeros(1, 3, 16), torch.zeros(1, 3, 16))
    others = {
        f"{module}.{name}": value
        for module, known in sys.modules.copy().items()
        # What identify has tried it keeps by itself.
        if module.startswith("posenc.") and not module.startswith("posenc.identification")
        for name, value in vars(known).items()
        if isinstance(value, functools._lru_cache_wrapper)
    }

    assert len(others) > 5
    assert {name: bytes_in(gc.get_referents(function)) for name, function in others.items()} == dict.fromkeys(others, 0)
    stores = [each for each in gc.get_objects() if type(each) is Cache and each.limit > 3]
    assert {id(store) for store in stores} == {id(store) for store in BOUNDED.values()}


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

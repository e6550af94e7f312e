from cache import Cache


def test_an_entry_is_found() -> None:
    cache = Cache(2)
    cache.put("a", b"1")
    assert cache.get("a") == b"1"


def test_the_oldest_entry_is_forgotten() -> None:
    cache = Cache(2)
    for key in "abc":
        cache.put(key, key.encode())
    assert cache.get("a") is None


def test_many_entries_take_no_more_memory_than_the_limit_allows() -> None:
    """Passes whether or not the cache has a bound: the gate measures its memory."""
    cache = Cache(100)
    for number in range(400_000):
        cache.put(str(number), bytes(10_000))
    assert cache.get("399999") is not None

"""Caches by the identity of objects."""

from __future__ import annotations

from dalembert.compiler.execute import RecentSame


def test_items_belong_to_the_very_same_objects():
    cache, a, b = RecentSame(2), [1], [1]
    first = cache.get((a, b), lambda: "first")
    assert first == "first" == cache.get((a, b), lambda: "never prepared")
    assert cache.get((b, a), lambda: "other order") == "other order"
    assert cache.get((a,), lambda: "fewer") == "fewer"  # which is one more than there is room for
    assert cache.get((a, b), lambda: "again") == "again"
    cache.clear()
    assert cache.get((a,), lambda: "new") == "new"


def test_an_item_is_that_of_its_objects_though_others_come_meanwhile():
    """As from another thread, while it is prepared."""
    cache, a, b = RecentSame(8), [1], [2]

    def slowly() -> str:
        assert cache.get((b,), lambda: "b") == "b"
        return "a"

    assert cache.get((a,), slowly) == "a"
    assert cache.get((b,), lambda: "never prepared") == "b"

"""Packs of archives or groups for the tasks of a cluster."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.pipeline.packed_backfill import packed, profile_differences

sizes = st.dictionaries(st.text(), st.integers(0, 10**9), max_size=50)


@given(sizes, st.integers(1, 20))
def test_every_item_is_in_one_pack_and_no_pack_is_empty(sizes: dict[str, int], count: int) -> None:
    packs = packed(sizes, count)
    assert sorted(item for pack in packs for item in pack) == sorted(sizes)
    assert all(packs)
    assert len(packs) == min(count, len(sizes))


@given(sizes, st.integers(1, 20))
def test_no_pack_is_larger_than_the_mean_and_the_largest_item_together(
    sizes: dict[str, int], count: int
) -> None:
    totals = [sum(sizes[item] + 1 for item in pack) for pack in packed(sizes, count)]
    mean, largest = sum(totals) / max(len(totals), 1), max(sizes.values(), default=0) + 1
    assert max(totals, default=0) <= mean + largest
    assert totals == sorted(totals, reverse=True)


def test_what_differs_between_two_processes_is_named_and_digests_are_not_shown() -> None:
    expected = {"extractor": "llm", "recipe": "1a", "lake": "/lake"}
    found = {"extractor": "structural", "recipe": "2b", "lake": "/lake"}
    assert profile_differences(expected, found) == [
        "extractor (structural instead of llm)",
        "recipe",
    ]
    assert profile_differences(expected, expected) == []

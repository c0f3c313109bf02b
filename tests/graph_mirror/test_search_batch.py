"""Searches that are asked for together are made together, each with its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from turnetl.graph.mirror.graphiti_adapters import SearchBatch

Call = tuple[list[float], int, float]


class RecordedSearch:
    """Returns the first number of each vector; records each call."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(
        self, vectors: Sequence[Sequence[float]], limit: int, min_score: float
    ) -> list[float]:
        self.calls.append(([vector[0] for vector in vectors], limit, min_score))
        return [1 / vector[0] for vector in vectors]


async def test_searches_that_start_together_are_one_call() -> None:
    search = RecordedSearch()
    batch = SearchBatch(search)
    found = await asyncio.gather(*(batch.search([number], 5, 0.6) for number in (1.0, 2.0, 4.0)))
    assert found == [1, 0.5, 0.25]
    assert search.calls == [([1.0, 2.0, 4.0], 5, 0.6)]


async def test_searches_one_after_the_other_are_a_call_each() -> None:
    search = RecordedSearch()
    batch = SearchBatch(search)
    assert [await batch.search([number], 5, 0.6) for number in (1.0, 2.0)] == [1, 0.5]
    assert [numbers for numbers, *_ in search.calls] == [[1.0], [2.0]]


async def test_searches_with_another_limit_or_minimum_are_a_call_of_their_own() -> None:
    search = RecordedSearch()
    batch = SearchBatch(search)
    found = await asyncio.gather(
        batch.search([1.0], 5, 0.6), batch.search([2.0], 6, 0.6), batch.search([4.0], 5, 0.7)
    )
    assert list(found) == [1, 0.5, 0.25]
    assert search.calls == [([1.0], 5, 0.6), ([2.0], 6, 0.6), ([4.0], 5, 0.7)]


async def test_an_error_reaches_every_search_of_its_call_and_no_later_one() -> None:
    batch = SearchBatch(RecordedSearch())
    searches = (batch.search([number], 5, 0.6) for number in (1.0, 0.0))
    errors = await asyncio.gather(*searches, return_exceptions=True)
    assert [type(error) for error in errors] == [ZeroDivisionError] * 2
    assert await batch.search([2.0], 5, 0.6) == pytest.approx(0.5)


async def test_a_cancelled_search_is_not_made() -> None:
    search = RecordedSearch()
    batch = SearchBatch(search)
    one, other = (asyncio.ensure_future(batch.search([n], 5, 0.6)) for n in (1.0, 2.0))
    await asyncio.sleep(0)
    one.cancel()
    assert await other == pytest.approx(0.5)
    assert [numbers for numbers, *_ in search.calls] == [[2.0]]

"""The vector index returns the nearest vectors by cosine, as a comparison with all of them does."""

from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from turnetl.base.model import Vector
from turnetl.graph.mirror.similarity import VectorIndex, best_keys, exact_cosines
from turnetl.llm.vectors import pack, stack, unpack

DIMENSIONS = 5
SMALL = st.integers(-2, 2).map(float)
NEAR = st.sampled_from([0.3, np.nextafter(np.float32(0.3), np.float32(1)).item(), 0.30001, -0.3])
ANY = st.floats(-1e3, 1e3, width=32)
NUMBERS = st.one_of(
    [st.lists(numbers, min_size=DIMENSIONS, max_size=DIMENSIONS) for numbers in (SMALL, NEAR, ANY)]
)
"""Many equal vectors, zeros, vectors that differ in the last digit, short and long ones."""


def vector(*numbers: float) -> Vector:
    return pack(numbers)


def index_of(*vectors: Vector) -> VectorIndex:
    index = VectorIndex(len(unpack(vectors[0])))
    index.extend((str(number), vector) for number, vector in enumerate(vectors))
    return index


def compared_with_all(
    vectors: Sequence[Vector], query: Vector, limit: int
) -> list[tuple[str, float]]:
    keys = [str(number) for number in range(len(vectors))]
    return best_keys(keys, exact_cosines(vectors, unpack(query)), limit)


def test_the_nearest_come_first() -> None:
    index = VectorIndex(2)
    index.extend([("east", vector(1, 0)), ("north", vector(0, 1)), ("ne", vector(0.7, 0.7))])
    (nearest,) = index.nearest(stack([vector(1, 0)]), 2)
    assert nearest == [("east", 1.0), ("ne", pytest.approx(0.7))]


def test_equal_vectors_come_in_order_of_insertion() -> None:
    index = index_of(*(vector(number % 2) for number in range(99)))
    (nearest,) = index.nearest(stack([vector(1)]), 9)
    keys = [key for key, _ in nearest]
    assert keys == [str(number) for number in range(1, 18, 2)]


def test_a_vector_of_other_dimensions_is_rejected() -> None:
    with pytest.raises(ValueError, match="vector of 3 dimensions to an index of 2"):
        VectorIndex(2).extend([("a", vector(1, 2, 3))])


def test_an_empty_index_returns_nothing() -> None:
    assert VectorIndex(2).nearest(stack([vector(1, 0)]), 5) == [[]]


def test_the_matrix_grows_beyond_its_initial_size() -> None:
    index = VectorIndex(1)
    for number in range(3_000):
        index.extend([(str(number), vector(number))])
    assert index.nearest(stack([vector(1)]), 1) == [[("2999", 2999.0)]]


@given(
    st.lists(NUMBERS, min_size=1, max_size=120),
    st.lists(NUMBERS, max_size=70),
    st.integers(1, 6),
    st.integers(0, 120),
)
def test_the_nearest_are_those_of_a_comparison_with_all_vectors(
    rows: list[list[float]], queries: list[list[float]], limit: int, split: int
) -> None:
    """However many are added and searched together, with equal, almost equal and zero vectors."""
    vectors, searched = [vector(*row) for row in rows], [vector(*row) for row in queries]
    index = VectorIndex(DIMENSIONS)
    keyed = [(str(number), vector) for number, vector in enumerate(vectors)]
    index.extend(keyed[:split])
    index.extend(keyed[split:])
    expected = [compared_with_all(vectors, query, limit) for query in searched]
    together = np.array(queries, np.float32).reshape(-1, DIMENSIONS)
    assert index.nearest(together, limit) == expected
    assert [index.nearest(query[np.newaxis], limit)[0] for query in together] == expected


@given(st.integers(0, 2**32), st.floats(-0.5, 1), st.integers(1, 30))
def test_of_many_vectors_all_above_the_minimum_are_returned(
    seed: int, minimum: float, limit: int
) -> None:
    chance = np.random.default_rng(seed)
    different = chance.standard_normal((500, 48)) / 7
    rows = np.concatenate([different, different[:100]])
    vectors = [pack(row) for row in rows]
    query = pack(rows[3] + chance.standard_normal(48) / 50)
    (nearest,) = index_of(*vectors).nearest(stack([query]), limit, minimum)
    expected = compared_with_all(vectors, query, limit)
    assert [one for one in nearest if one[1] >= minimum] == [
        one for one in expected if one[1] >= minimum
    ]


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 20), st.lists(st.integers(0, 1_500), max_size=4))
def test_a_repeated_search_finds_what_was_added_since(
    seed: int, limit: int, added: list[int]
) -> None:
    """With vectors that are equal to those found before, which come first."""
    chance = np.random.default_rng(seed)
    vectors = [pack(row) for row in chance.integers(-3, 4, (2_500, 8))]
    queries = [pack(row) for row in chance.integers(-3, 4, (3, 8))]
    index = index_of(*vectors)
    for count in [0, *added]:
        more = [pack(row) for row in chance.integers(-3, 4, (count, 8))]
        index.extend((str(len(vectors) + number), one) for number, one in enumerate(more))
        vectors += more
        expected = [compared_with_all(vectors, query, limit) for query in queries]
        assert index.nearest(stack(queries), limit) == expected
        assert index.nearest(stack(queries[:1]), limit + 1) == [
            compared_with_all(vectors, queries[0], limit + 1)
        ]


@given(st.lists(NUMBERS, min_size=1, max_size=40), NUMBERS)
def test_a_cosine_does_not_depend_on_the_vectors_that_are_compared_with_it(
    rows: list[list[float]], query: list[float]
) -> None:
    vectors = [vector(*row) for row in rows]
    together = exact_cosines(vectors, unpack(vector(*query)))
    alone = [exact_cosines([one], unpack(vector(*query)))[0] for one in vectors]
    assert together.tolist() == alone


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_vector_that_is_not_finite_hides_no_other(number: float) -> None:
    index = index_of(vector(number, 0), *(vector(1, count) for count in range(50)))
    assert index.nearest(stack([vector(0, 1)]), 2) == [[("50", 49.0), ("49", 48.0)]]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 3.4e38, -3.4e38])
@pytest.mark.parametrize("limit", [2, 100])
def test_a_query_whose_products_are_not_finite_counts_as_zeros(number: float, limit: int) -> None:
    index = index_of(*(vector(1, count) for count in range(50)))
    queries = stack([vector(number, 1), vector(0, 1), vector(0, 0)])
    as_zeros, good, zeros = index.nearest(queries, limit)
    assert as_zeros == zeros
    assert good[0] == ("49", 49.0)


def test_a_vector_too_long_for_its_products_hides_no_other() -> None:
    index = index_of(vector(3.4e38, 0), *(vector(1, count) for count in range(50)))
    assert index.nearest(stack([vector(9, 1)]), 1) == [[("50", 58.0)]]


def test_many_queries_of_a_few_vectors_find_the_same_as_each_alone() -> None:
    index = index_of(*(vector(1, count) for count in range(20)))
    queries = stack([vector(number, 1) for number in range(100)])
    together = index.nearest(queries, 5)
    assert together == [index.nearest(queries[at : at + 1], 5)[0] for at in range(100)]


def test_of_vectors_of_which_one_is_rejected_none_is_added() -> None:
    index = VectorIndex(1)
    many = [(str(number), vector(number)) for number in range(1_500)]
    with pytest.raises(ValueError, match="dimensions"):
        index.extend([*many, ("bad", vector(1, 2))])
    assert index.nearest(stack([vector(1)]), 5) == [[]]

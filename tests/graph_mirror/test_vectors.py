"""The vector index returns the nearest vectors by cosine."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from turnetl.graph.mirror.vectors import VectorIndex
from turnetl.llm.vectors import stack, unpack
from turnetl.model import Vector

KEYED = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.lists(st.integers(-3, 3), min_size=3, max_size=3)),
    max_size=100,
)


def vector(*numbers: float) -> Vector:
    return Vector(np.array(numbers, dtype="<f4").tobytes())


def test_the_nearest_come_first() -> None:
    vectors = VectorIndex(
        2, [("east", vector(1, 0)), ("north", vector(0, 1)), ("ne", vector(0.7, 0.7))]
    )
    (best,) = vectors.nearest(stack([vector(1, 0)]), 2)
    assert best == [("east", 1.0), ("ne", pytest.approx(0.7))]


def test_several_queries_are_searched_together() -> None:
    vectors = VectorIndex(2, [("east", vector(1, 0)), ("north", vector(0, 1))])
    results = vectors.nearest(stack([vector(0, 1), vector(1, 0)]), 1)
    assert [key for ((key, _),) in results] == ["north", "east"]


def test_equal_vectors_come_in_order_of_insertion() -> None:
    keys = [f"{n}" for n in range(99, 0, -1)]
    vectors = VectorIndex(1, [(key, vector(int(key) % 2)) for key in keys])
    (best,) = vectors.nearest(stack([vector(1)]), 99)
    assert [key for key, _ in best] == [*keys[::2], *keys[1::2]]


def test_a_vector_of_other_dimensions_is_rejected() -> None:
    with pytest.raises(ValueError, match="vector of 3 dimensions to an index of 2"):
        VectorIndex(2).add("a", vector(1, 2, 3))


def test_an_empty_index_returns_nothing() -> None:
    assert VectorIndex(2).nearest(stack([vector(1, 0)]), 5) == [[]]


@given(KEYED)
def test_a_later_vector_replaces_an_earlier_one_with_the_same_key(
    keyed: list[tuple[str, list[int]]],
) -> None:
    vectors = VectorIndex(3)
    for key, numbers in keyed:
        vectors.add(key, vector(*numbers))
    last = {key: vector(*numbers) for key, numbers in keyed}
    unit = np.eye(3, dtype=np.float32)
    for axis, nearest in enumerate(vectors.nearest(unit, len(keyed))):
        # Small integers: the cosines are exact.
        assert dict(nearest) == {key: unpack(stored)[axis] for key, stored in last.items()}
        assert [cosine for _, cosine in nearest] == sorted(dict(nearest).values(), reverse=True)


def test_the_matrix_grows_beyond_its_initial_size() -> None:
    vectors = VectorIndex(1, ((f"{n}", vector(n)) for n in range(1000)))
    assert vectors.nearest(stack([vector(1)]), 1) == [[("999", 999.0)]]

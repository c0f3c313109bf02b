"""Vectors as integers keep their directions, whatever their lengths."""

import sys

import numpy as np
import pytest

from turnetl.llm.vectors import SCALE, integer_products, quantized

SMALLEST = np.finfo(np.float32).smallest_subnormal


@pytest.mark.parametrize("number", [1.0, 3.4e38, 190 * SMALLEST])
def test_the_largest_number_keeps_its_sign_and_is_the_largest_integer(number: float) -> None:
    integers, _ = quantized(np.array([[number, -number, 0]], dtype=np.float32))
    assert integers.tolist() == [[SCALE, -SCALE, 0]]


@pytest.mark.parametrize("dimensions", [1, 63, 256, 1025])
@pytest.mark.parametrize("queries", [1, 13, 33])
def test_products_of_integers_are_exact_across_blocks(dimensions: int, queries: int) -> None:
    numbers = np.random.default_rng(dimensions)
    vectors = numbers.integers(-SCALE, SCALE, (1_500, dimensions), np.int8, endpoint=True)
    asked = numbers.integers(-SCALE, SCALE, (queries, dimensions), np.int8, endpoint=True)
    exact = asked.astype(np.int64) @ vectors.T.astype(np.int64)
    assert (integer_products(vectors, asked) == exact).all()


def test_any_number_of_searches_leaves_the_interpreter_alive() -> None:
    # simsimd took a reference to None with each call, until Python 3.11 ended the process.
    vectors = np.ones((5_000, 8), np.int8)
    before = sys.getrefcount(None)
    for _ in range(100):
        integer_products(vectors, vectors[:3])
    assert sys.getrefcount(None) > before - 100

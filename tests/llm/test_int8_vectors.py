"""Vectors as integers keep their directions, whatever their lengths."""

import numpy as np
import pytest

from turnetl.llm.int8_vectors import SCALE, quantized

SMALLEST = np.finfo(np.float32).smallest_subnormal


@pytest.mark.parametrize("number", [1.0, 3.4e38, 190 * SMALLEST])
def test_the_largest_number_keeps_its_sign_and_is_the_largest_integer(number: float) -> None:
    integers, _ = quantized(np.array([[number, -number, 0]], dtype=np.float32))
    assert integers.tolist() == [[SCALE, -SCALE, 0]]

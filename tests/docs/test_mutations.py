"""Every slip of benchmarks/mutations.tsv still applies to a line and belongs to one promise."""

import ast
from collections import Counter

import pytest

from benchmarks.mutations import mutations


def test_every_slip_applies_to_one_line_and_one_promise(subtests: pytest.Subtests) -> None:
    for mutation in mutations():
        with subtests.test(promise=mutation.promise):
            assert mutation.tests()
            assert mutation.line != mutation.broken
            ast.parse(mutation.applied())


def test_no_promise_is_broken_twice() -> None:
    counts = Counter(mutation.promise for mutation in mutations())
    assert max(counts.values()) == 1

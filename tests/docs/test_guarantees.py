"""Every guarantee in docs/guarantees.md names tests that exist."""

import ast
import re

import pytest

from tests.cli.command import ROOT

PAGE = (ROOT / "docs" / "guarantees.md").read_text()
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def test_every_test_of_a_guarantee_exists(subtests: pytest.Subtests) -> None:
    for test in TESTS:
        with subtests.test(test=test):
            path, _, name = test.partition("::")
            tree = ast.parse((ROOT / path).read_text())
            names = {
                node.name
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert not name or name in names


def test_every_guarantee_names_a_test() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| ") and "guarantee |" not in row]
    assert rows
    assert not [row for row in rows if "`tests/" not in row]

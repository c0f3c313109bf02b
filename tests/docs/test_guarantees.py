"""docs/guarantees.md names tests that exist for each guarantee, and the suite that runs them."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property

import pytest

from tests.cli.command import ROOT


@dataclass(frozen=True)
class Guarantee:
    sentence: str
    suite: str
    links: str

    @cached_property
    def tests(self) -> list[tuple[str, str]]:
        """The name of each test, or of its file for all tests of it, and the path of the file."""
        return re.findall(r"\[([\w.]+)\]\(\.\./(tests/[\w/]+\.py)\)", self.links)

    def proofs(self, suites: dict[str, list[str]]) -> set[str]:
        """Return the suites that run its tests, but for what takes hours."""
        names = [path if name.endswith(".py") else f"{path}::{name}" for name, path in self.tests]
        found = {
            suite
            for test, of_test in suites.items()
            if test in names or test.partition("::")[0] in names
            for suite in of_test
        }
        return found - {"exhaustive"}


ROWS = re.findall(
    r"^\| (.+?) \| (.+?) \| (.+) \|$",
    (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)
GUARANTEES = [Guarantee(*row) for row in ROWS if row[0] != "guarantee"]
TESTS = sorted({test for one in GUARANTEES for test in one.tests})


def test_every_test_of_a_guarantee_exists() -> None:
    missing = []
    for name, path in TESTS:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        names = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
        if name not in {*names, (ROOT / path).name}:
            missing.append((name, path))
    assert missing == []


def test_every_guarantee_is_a_sentence_with_a_test() -> None:
    assert GUARANTEES
    assert [one for one in GUARANTEES if not one.tests or not one.sentence.endswith(".")] == []


@pytest.mark.full
def test_the_suite_of_a_guarantee_is_that_of_its_tests() -> None:
    files = sorted({path for _, path in TESTS})
    process = subprocess.run(
        [sys.executable, "-m", "tests.docs.suites", *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    suites = json.loads(process.stdout.splitlines()[-1])
    proofs = {one.sentence: one.proofs(suites) for one in GUARANTEES}
    named = {"test": {"test"}, "test-full": {"test-full"}, "both": {"test", "test-full"}}
    assert {one.sentence: named[one.suite] for one in GUARANTEES} == proofs

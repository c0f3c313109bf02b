"""`python -m tests.docs.suites FILE...` prints which suite runs each test of these files, as JSON.

An object: the name of each test, as `tests/x.py::test_y`, and a list of `test` (`make test` runs
it), `test-full` and `exhaustive`; several if the suites share its cases.
"""

import json
import sys
from collections import defaultdict

import pytest


class Suites:
    """A plugin that reads the marks of what a run has collected, or left out."""

    def __init__(self) -> None:
        self.of_test: dict[str, set[str]] = defaultdict(set)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.add(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.add(session.items)

    def add(self, items: list[pytest.Item]) -> None:
        # Not before pytest has begun: it rewrites the assertions of what it imports itself.
        from tests.conftest import is_exhaustive, is_of_short_run  # noqa: PLC0415

        for item in items:
            suite = "test" if is_of_short_run(item) else "test-full"
            name = item.nodeid.partition("[")[0]
            self.of_test[name].add("exhaustive" if is_exhaustive(item) else suite)


if __name__ == "__main__":
    suites = Suites()
    code = pytest.main(["--collect-only", "-qq", "-n", "0", *sys.argv[1:]], [suites])
    sys.stdout.write("\n" + json.dumps({name: sorted(one) for name, one in suites.of_test.items()}))
    sys.exit(code)

"""Which requests were paid for, and whether their responses are in the journal."""

import shutil
import tempfile
from pathlib import Path
from urllib.request import urlopen

from tests.crashes.results import responses
from tests.crashes.trial_context import TrialContext

IN_FLIGHT = 8
"""Requests whose responses a killed run may lose: `llm.concurrency`."""


class Payments:
    """Counts requests and responses from now on."""

    def __init__(self, place: TrialContext) -> None:
        self._place = place
        self._requests, self._responses = self._counts()

    def unrecorded(self) -> int:
        """Return how many requests since the last call have no response of their own."""
        before = self._requests, self._responses
        self._requests, self._responses = self._counts()
        return (self._requests - before[0]) - (self._responses - before[1])

    def _counts(self) -> tuple[int, int]:
        """Return the numbers of requests that the provider got, and of responses in the journal.

        A copy of the journal is read: to close it would merge its log.
        """
        with tempfile.TemporaryDirectory() as folder:
            for path in self._place.lake.glob("journal.sqlite*"):
                shutil.copy2(path, folder)
            found = len(responses(Path(folder) / "journal.sqlite"))
        with urlopen(f"{self._place.provider}/requests") as response:  # noqa: S310 - the tests' own
            return int(response.read()), found

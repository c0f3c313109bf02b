"""Small redactors for tests. Worker processes can import them."""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnetl.lake import replace_file
from turnetl.redact import RedactedTexts


class KeepsPersons:
    """Does not redact personal data."""

    redacts_persons = False

    def person_placeholder(self, name: str) -> str:
        return name


@dataclass(frozen=True)
class NoRedactor(KeepsPersons):
    """Redacts nothing."""

    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        return [RedactedTexts(texts, [0] * len(texts)) for texts in archives]


@dataclass(frozen=True)
class WordRedactor(KeepsPersons):
    """Replaces one word by `[cut]`."""

    word: str
    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        return [
            RedactedTexts(
                [text.replace(self.word, "[cut]") for text in texts],
                [text.count(self.word) for text in texts],
            )
            for texts in archives
        ]


@dataclass(frozen=True)
class CallbackRedactor(KeepsPersons):
    """Redacts nothing, and calls a function between reading and writing an archive."""

    callback: Callable[[], object]
    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        self.callback()
        return NoRedactor().redact_many(archives)


@dataclass(frozen=True)
class FailingRedactor(KeepsPersons):
    """Fails for every archive, as no redactor may: it proves that nothing is redacted."""

    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        if archives:
            raise AssertionError(archives)
        return []


@dataclass(frozen=True)
class SignallingRedactor(KeepsPersons):
    """Redacts nothing; a process that receives it sends a signal first, before it has all of it."""

    signals: "SignalOnReceipt"
    padding: bytes = b"x" * (8 << 20)
    """More than a pipe holds: the sender is still sending when the signal is sent."""
    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        return NoRedactor().redact_many(archives)


@dataclass(frozen=True)
class SignalOnReceipt:
    """Sends a signal to the process that receives it, or to its parent."""

    number: signal.Signals
    to_parent: bool

    def __reduce__(self) -> tuple[Callable[..., "SignalOnReceipt"], tuple[signal.Signals, bool]]:
        return _send_signal, (self.number, self.to_parent)


def _send_signal(number: signal.Signals, to_parent: bool) -> SignalOnReceipt:
    os.kill(os.getppid() if to_parent else os.getpid(), number)
    return SignalOnReceipt(number, to_parent)


@dataclass(frozen=True)
class DyingRedactor(KeepsPersons):
    """Redacts nothing; an archive with a certain word kills the process, as lack of memory does."""

    word: str
    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        if any(self.word in text for texts in archives for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return NoRedactor().redact_many(archives)


@dataclass(frozen=True)
class SignallingWriter(KeepsPersons):
    """Redacts nothing; sends signals while it writes a file, if an archive has a certain word."""

    word: str
    path: Path
    """The file, in a lake."""
    to_itself: signal.Signals
    to_parent: signal.Signals | None = None
    version: str = "1"

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        if any(self.word in text for texts in archives for text in texts):
            replace_file(self.path, lambda _: self._send(), None)
        return NoRedactor().redact_many(archives)

    def _send(self) -> None:
        if self.to_parent is not None:
            os.kill(os.getppid(), self.to_parent)
        os.kill(os.getpid(), self.to_itself)

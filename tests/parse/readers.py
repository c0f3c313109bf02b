"""What the tests of a room share: redactors that other processes can import, and rows."""

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from turnetl import parse
from turnetl.lake import Lake


class Plain:
    """Cuts nothing."""

    version = "1"

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        return texts, [0] * len(texts)


class Untouched(Plain):
    """Fails if an archive is read at all."""

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        raise AssertionError(texts)


@dataclass(frozen=True)
class Dies:
    """Is killed, as if memory had run out, by an archive that says so."""

    word: str
    version: str = "1"

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        if any(self.word in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return texts, [0] * len(texts)


def row(kind: str, content: object, native: str, **fields: object) -> str:
    """A line of Claude Code's, of the project `shop`."""
    message = {"role": kind, "content": content}
    base = {"type": kind, "sessionId": "s1", "cwd": "/home/dev/shop", "uuid": native}
    time = {"timestamp": "2026-03-02T09:00:00Z"}
    return json.dumps(base | time | {"message": message} | fields) + "\n"


def talk(prompt: str = "Mend the cart.", native: str = "p0") -> str:
    """Two lines, one turn."""
    return row("user", prompt, native) + row("assistant", "Mended.", f"a-{native}")


def run(lake: Lake, *paths: Path, **how: object) -> parse.ParseReport:
    return parse.parse_archives(paths, lake, **({"redactor": Plain()} | how))  # type: ignore[arg-type]


def outcomes(report: parse.ParseReport) -> list[str]:
    return [archive.outcome.value for archive in report.archives]


def accounted(report: parse.ParseReport) -> bool:
    """Say whether every line that was read was used or skipped for a reason."""
    counts = [archive.counts for archive in report.archives] + [report.read]
    return all(of.lines == of.used + sum(of.skipped.values()) for of in counts)

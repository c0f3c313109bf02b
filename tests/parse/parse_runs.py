"""Runs of `parse_archives` on small Claude Code sessions, and what to check in their reports."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.lake import Lake


def row(kind: str, content: object, native: str, **fields: object) -> str:
    """Return a line of a Claude Code session of the project `shop`."""
    message = {"role": kind, "content": content}
    base = {"type": kind, "sessionId": "s1", "cwd": "/home/dev/shop", "uuid": native}
    time = {"timestamp": "2026-03-02T09:00:00Z"}
    return json.dumps(base | time | {"message": message} | fields) + "\n"


def one_turn(prompt: str = "Mend the cart.", native: str = "p0") -> str:
    """Return two lines: a prompt and the agent's text."""
    return row("user", prompt, native) + row("assistant", "Mended.", f"a-{native}")


def run(lake: Lake, *paths: Path, **options: Any) -> parsing.ParseReport:
    """Parse the archives, by default without redaction."""
    return parsing.parse_archives(paths, lake, **({"redactor": NoRedactor()} | options))


def outcomes(report: parsing.ParseReport) -> list[str]:
    return [archive.outcome.value for archive in report.archives]


def counts_every_line(report: parsing.ParseReport) -> bool:
    """Return whether every line that was read is counted as used or under a skip reason."""
    counts = [archive.counts for archive in report.archives] + [report.read]
    return all(
        archive_counts.lines == archive_counts.used + sum(archive_counts.skipped.values())
        for archive_counts in counts
    )

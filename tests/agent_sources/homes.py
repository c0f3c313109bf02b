"""Made-up home folders of agents."""

import os
from datetime import UTC, datetime
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from turnetl.agent_sources.locations import AgentMachine

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def machine(home: Path, platform: str = "linux", **environment: str) -> AgentMachine:
    return AgentMachine(environment, home, platform)


def transcript(folder: Path, name: str = "s1", *, changed: datetime = NOW) -> Path:
    """Write a transcript of two turns of Claude Code in a folder of it; return its path."""
    path = folder / "projects" / "-home-dev-shop" / f"{name}.jsonl"
    write_archive(path, conversation("Add a cart", "Write tests", session=name, at=changed))
    return touched(path, changed)


def touched(path: Path, changed: datetime) -> Path:
    os.utime(path, (changed.timestamp(), changed.timestamp()))
    return path

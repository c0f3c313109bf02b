"""A folder as somebody else may have made it, with a configuration that serves them."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import write_session
from tests.servers.provider import FakeProvider


@dataclass(frozen=True)
class PlantedFolder:
    """The folder, and the home of a user who works in it."""

    path: Path
    home: Path

    @property
    def config(self) -> Path:
        return self.path / "graphiti.config.json"

    @property
    def template(self) -> Path:
        return self.path / ".graphiti" / "templates" / "default-session-turn.md"

    def write_config(self, **turnetl: object) -> None:
        self.config.write_text(json.dumps({"turnetl": turnetl}))

    def run(self, *arguments: str | Path, **environment: str) -> CommandResult:
        return run_in_process(*arguments, folder=self.path, HOME=str(self.home), **environment)

    def backfill(self, **environment: str) -> CommandResult:
        """Ingest the archive of the user."""
        return self.run("backfill", self.home / "a.jsonl", "--close-after", "0", **environment)

    def write_template(self, text: str) -> None:
        self.template.parent.mkdir(parents=True, exist_ok=True)
        self.template.write_text(text)


def plant(root: Path) -> PlantedFolder:
    """Return a folder without configuration, and a home with an archive."""
    planted = PlantedFolder(root / "cloned", root / "home")
    planted.path.mkdir()
    planted.home.mkdir()
    write_session(planted.home / "a.jsonl", 1)
    return planted


def model_of(provider: FakeProvider) -> dict[str, str]:
    """Return the settings of `llm`, without a key, that a planted config file may have."""
    return {"provider": "openai-compatible", "base_url": f"{provider.url}/v1", "model": "canned"}


def nested(setting: tuple[str, ...], value: object) -> dict[str, object]:
    """Return the section of a config file with a setting, which may be in a section of its own."""
    *sections, name = setting
    content: dict[str, object] = {name: value}
    for section in reversed(sections):
        content = {section: content}
    return content


def listed(planted: PlantedFolder) -> list[dict[str, object]]:
    """Return what `turnetl trust --list` shows."""
    folders: list[dict[str, object]] = planted.run("trust", "--list", "--json").json["folders"]
    return folders


def received(provider: FakeProvider) -> str:
    """Return everything that the server received."""
    return "\n".join(
        json.dumps([request.path, dict(request.headers), request.body])
        for request in provider.requests
    )

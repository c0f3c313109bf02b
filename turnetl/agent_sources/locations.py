"""The folders in which agents keep archives, from environment, home folder and platform alone.

From the documentation of the agents. Windows and macOS have the same folders in the home folder as
Linux; only the settings of an organisation are in other places.
"""

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CLAUDE_CODE = "Claude Code"
CODEX = "Codex CLI"
GEMINI = "Gemini CLI"
OPENCODE = "OpenCode"


@dataclass(frozen=True, slots=True)
class AgentMachine:
    """What decides where agents keep their files."""

    environment: Mapping[str, str]
    home: Path
    """The home folder of the user; `%USERPROFILE%` on Windows."""
    platform: str
    """As `sys.platform`: `linux`, `darwin`, `win32`."""


@dataclass(frozen=True, slots=True)
class Location:
    """A folder of an agent, which may not exist."""

    agent: str
    folder: Path
    archives: tuple[str, ...]
    """Files, folders and globs in it that hold archives, as `parsing.expand` takes them."""
    variable: str = ""
    """The environment variable that names the folder; empty: it is the default."""
    settings: tuple[Path, ...] = ()
    """Settings files that decide how long archives are kept; the first that sets it wins."""
    databases: tuple[str, ...] = ()
    """Globs of databases with sessions that turnetl cannot read."""


def agent_locations(machine: AgentMachine) -> tuple[Location, ...]:
    """Return the folders of all agents that turnetl reads, each once, agent by agent."""
    locations = (*_claude(machine), _codex(machine), _gemini(machine), _opencode(machine))
    return tuple({location.folder: location for location in reversed(locations)}.values())[::-1]


def _claude(machine: AgentMachine) -> Iterator[Location]:
    """Yield the folder of Claude Code; by default also the one of versions that followed XDG."""
    variable = "CLAUDE_CONFIG_DIR"
    if (given := _folder(machine, variable)) is not None:
        yield _claude_in(given, machine, variable)
        return
    config = _folder(machine, "XDG_CONFIG_HOME") or machine.home / ".config"
    yield _claude_in(machine.home / ".claude", machine)
    yield _claude_in(config / "claude", machine)


def _claude_in(folder: Path, machine: AgentMachine, variable: str = "") -> Location:
    settings = (_managed_settings(machine), folder / "settings.json")
    archives = _below(folder, "projects", "history.jsonl")
    return Location(CLAUDE_CODE, folder, archives, variable, settings)


def _managed_settings(machine: AgentMachine) -> Path:
    """Return the settings of Claude Code that an organisation prescribes."""
    match machine.platform:
        case "darwin":
            folder = Path("/Library/Application Support/ClaudeCode")
        case "win32":
            programs = machine.environment.get("PROGRAMFILES") or r"C:\Program Files"
            folder = Path(programs) / "ClaudeCode"
        case _:
            folder = Path("/etc/claude-code")
    return folder / "managed-settings.json"


def _codex(machine: AgentMachine) -> Location:
    given = _folder(machine, "CODEX_HOME")
    folder = given or machine.home / ".codex"
    archives = _below(folder, "sessions", "archived_sessions")
    return Location(CODEX, folder, archives, "CODEX_HOME" if given else "")


def _gemini(machine: AgentMachine) -> Location:
    given = _folder(machine, "GEMINI_CLI_HOME")
    folder = (given or machine.home) / ".gemini"
    return Location(
        GEMINI,
        folder,
        # Beside the chats, the folder of a project holds logs and checkpoints.
        _below(folder, "tmp/*/chats"),
        "GEMINI_CLI_HOME" if given else "",
        (folder / "settings.json",),
    )


def _opencode(machine: AgentMachine) -> Location:
    given = _folder(machine, "XDG_DATA_HOME")
    folder = (given or machine.home / ".local" / "share") / "opencode"
    return Location(
        OPENCODE,
        folder,
        _below(folder, "storage", "project"),
        "XDG_DATA_HOME" if given else "",
        databases=_below(folder, "opencode*.db"),
    )


def _folder(machine: AgentMachine, variable: str) -> Path | None:
    """Return the folder that a variable names, or None: a relative path is ignored, as XDG says."""
    value = machine.environment.get(variable, "")
    if value.startswith("~/"):
        return machine.home / value[2:]
    folder = Path(value)
    return folder if value and folder.is_absolute() else None


def _below(folder: Path, *patterns: str) -> tuple[str, ...]:
    """Return patterns below a folder, whose own name is taken as it is."""
    plain = str(folder)
    return tuple(
        str(Path(glob.escape(plain) if "*" in pattern else plain, *pattern.split("/")))
        for pattern in patterns
    )

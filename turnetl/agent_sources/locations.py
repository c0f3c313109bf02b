"""The folders in which agents keep archives, from environment, home folder and platform alone.

From the documentation and the source of the agents. Windows and macOS have the same folders in the
home folder as Linux; only what programs of the desktop keep, and the settings of an organisation,
are in other places. From WSL, the homes of Windows are searched, too.
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
    windows_homes: tuple[Path, ...] = ()
    """From WSL: the home folders on the drive of Windows."""


def windows_homes(users: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the home folders below Windows' `Users`; none if this is not WSL."""
    if "WSL_DISTRO_NAME" not in environment or not users.is_dir():
        return ()
    # Homes of no person have no settings of programs, or cannot be read.
    return tuple(sorted(home for home in users.iterdir() if _is_dir(home / "AppData" / "Roaming")))


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


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


def agent_locations(machine: AgentMachine) -> tuple[Location, ...]:
    """Return the folders of all agents that turnetl reads, each once, agent by agent."""
    locations = tuple(_locations(machine))
    for home in machine.windows_homes:
        programs = {"PROGRAMFILES": str(home.parent.parent / "Program Files")}
        locations += tuple(_locations(AgentMachine(programs, home, "win32")))
    return tuple({location.folder: location for location in reversed(locations)}.values())[::-1]


def _locations(machine: AgentMachine) -> Iterator[Location]:
    yield from (
        *(*_claude(machine), _codex(machine), _gemini(machine), _opencode(machine)),
        _kilo(machine),
        *(_in_home(agent, machine) for agent in _AGENTS),
        *(_in_editor(*one, user) for one in _EXTENSIONS for user in _extension_hosts(machine)),
        *(_copilot_chat(editor, machine) for editor in _EDITORS),
        *(_cursor(machine), _kiro_database(machine), _zed(machine)),
        *(_amp(machine), _goose(machine), _devin(machine), _cowork(machine)),
    )


@dataclass(frozen=True, slots=True)
class _Agent:
    """An agent whose folder is in the home folder, or where a variable says."""

    name: str
    folder: str
    """Below the home folder."""
    archives: tuple[str, ...]
    """Folders and globs in it."""
    variable: str = ""


_ANTIGRAVITY = "brain/*/.system_generated/logs/transcript*.jsonl"
_AGENTS = (
    # A session also holds checkpoints, and files that it works on.
    _Agent(
        "Copilot CLI",
        ".copilot",
        ("session-state/*.jsonl", "session-state/*/events.jsonl"),
        "COPILOT_HOME",
    ),
    _Agent("Pi", ".pi/agent", ("sessions",), "PI_CODING_AGENT_DIR"),
    _Agent("OpenClaw", ".openclaw", ("agents/*/sessions",), "OPENCLAW_STATE_DIR"),
    _Agent("OMP", ".omp/agent", ("sessions",)),
    _Agent("Factory Droid", ".factory", ("sessions",)),
    _Agent("Cursor CLI", ".cursor", ("projects/*/agent-transcripts",)),
    _Agent("Qwen Code", ".qwen", ("projects/*/chats",)),
    # Beside each session is a file with its state.
    _Agent("Kiro CLI", ".kiro", ("sessions/cli/*.jsonl",)),
    _Agent("Cline", ".cline/data", ("sessions/*/*.messages.json",)),
    _Agent("Antigravity CLI", ".gemini/antigravity-cli", (_ANTIGRAVITY,)),
    _Agent("Antigravity", ".gemini/antigravity", (_ANTIGRAVITY,)),
    # Other agents in it are subagents.
    _Agent("Kimi Code", ".kimi-code", ("sessions/*/*/agents/main/wire.jsonl",)),
    # Beside the sessions is their list.
    _Agent("Continue", ".continue", ("sessions/*-*.json",), "CONTINUE_GLOBAL_DIR"),
    _Agent("Windsurf", ".windsurf", ("transcripts",)),
    _Agent("Grok CLI", ".grok", ("sessions/*/*/updates.jsonl",)),
    _Agent("Hermes", ".hermes", ("state.db", "profiles/*/state.db"), "HERMES_HOME"),
    _Agent("DeepSeek", ".dsh", ("sessions/*/*/session*.jsonl*",), "DSH_HOME"),
)
_EXTENSIONS = (("Cline", "saoudrizwan.claude-dev"), ("Roo Code", "rooveterinaryinc.roo-cline"))
"""Agents that are extensions of VS Code, with the ids of these."""
_EDITORS = ("Code", "Code - Insiders")
_FORKS = ("VSCodium", "Cursor", "Windsurf")
"""Editors that run extensions of VS Code."""
_CHATS = (
    *("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions"),
    "globalStorage/transferredChatSessions",
)
_COWORK = "local-agent-mode-sessions"


def _in_home(agent: _Agent, machine: AgentMachine) -> Location:
    given = environment_folder(machine, agent.variable) if agent.variable else None
    folder = given or machine.home.joinpath(*agent.folder.split("/"))
    archives = _below(folder, *agent.archives)
    return Location(agent.name, folder, archives, agent.variable if given else "")


def _extension_hosts(machine: AgentMachine) -> Iterator[Path]:
    """Yield the folders of users in which editors, also from another machine, run extensions."""
    yield from (_user_data(machine) / editor / "User" for editor in (*_EDITORS, *_FORKS))
    yield machine.home / ".vscode-server" / "data" / "User"


def _in_editor(agent: str, extension: str, user: Path) -> Location:
    folder = user / "globalStorage" / extension
    # Beside a task's messages are those that the editor shows.
    return Location(agent, folder, _below(folder, "tasks/*/api_conversation_history.json"))


def _copilot_chat(editor: str, machine: AgentMachine) -> Location:
    folder = _user_data(machine) / editor / "User"
    return Location("Copilot Chat", folder, _below(folder, *_CHATS))


def _cursor(machine: AgentMachine) -> Location:
    folder = _user_data(machine) / "Cursor" / "User" / "globalStorage"
    return Location("Cursor", folder, _below(folder, "state.vscdb"))


def _kiro_database(machine: AgentMachine) -> Location:
    folder, variable = _local_data(machine, "kiro-cli")
    return Location("Kiro CLI", folder, _below(folder, "data.sqlite3"), variable)


def _zed(machine: AgentMachine) -> Location:
    folder, variable = _local_data(machine, "zed" if machine.platform == "linux" else "Zed")
    return Location("Zed", folder / "threads", _below(folder, "threads/threads.db"), variable)


def _local_data(machine: AgentMachine, program: str) -> tuple[Path, str]:
    """Return the folder of a program's data on this machine, and the variable that moves it."""
    match machine.platform:
        case "darwin":
            return _user_data(machine) / program, ""
        case "win32":
            return _local(machine) / program, ""
        case _:
            share, variable = _shared_data(machine)
            return share / program, variable


def _local(machine: AgentMachine) -> Path:
    """Return the folder of data of programs on Windows that stay on this machine."""
    return environment_folder(machine, "LOCALAPPDATA") or machine.home / "AppData" / "Local"


def _cowork(machine: AgentMachine) -> Location:
    """Return the sessions of Claude's desktop: transcripts of Claude Code, and logs of them."""
    folder = _user_data(machine) / "Claude" / _COWORK
    sessions = ("*/*/local_*", "*/*/agent/local_*")
    kinds = (".claude/projects", "audit.jsonl")
    patterns = (f"{session}/{kind}" for session in sessions for kind in kinds)
    return Location("Claude Cowork", folder, _below(folder, *patterns))


def _user_data(machine: AgentMachine) -> Path:
    """Return the folder in which programs of the desktop keep the user's data."""
    match machine.platform:
        case "darwin":
            return machine.home / "Library" / "Application Support"
        case "win32":
            roaming = machine.home / "AppData" / "Roaming"
            return environment_folder(machine, "APPDATA") or roaming
        case _:
            return environment_folder(machine, "XDG_CONFIG_HOME") or machine.home / ".config"


def _claude(machine: AgentMachine) -> Iterator[Location]:
    """Yield the folder of Claude Code; by default also the one of versions that followed XDG."""
    variable = "CLAUDE_CONFIG_DIR"
    if (given := environment_folder(machine, variable)) is not None:
        yield _claude_in(given, machine, variable)
        return
    config = environment_folder(machine, "XDG_CONFIG_HOME") or machine.home / ".config"
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
    given = environment_folder(machine, "CODEX_HOME")
    folder = given or machine.home / ".codex"
    archives = _below(folder, "sessions", "archived_sessions", "thread_history*.sqlite")
    return Location(CODEX, folder, archives, "CODEX_HOME" if given else "")


def _gemini(machine: AgentMachine) -> Location:
    given = environment_folder(machine, "GEMINI_CLI_HOME")
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
    share, variable = _shared_data(machine)
    folder = share / "opencode"
    return Location(
        OPENCODE, folder, _below(folder, "storage", "project", "opencode*.db"), variable
    )


def _kilo(machine: AgentMachine) -> Location:
    share, variable = _shared_data(machine)
    folder = share / "kilo"
    return Location("Kilo Code", folder, _below(folder, "storage", "kilo*.db"), variable)


def _amp(machine: AgentMachine) -> Location:
    share, variable = _shared_data(machine)
    return Location("Amp", share / "amp", _below(share / "amp", "threads/T-*.json"), variable)


def _goose(machine: AgentMachine) -> Location:
    """Return the sessions of Goose: files, and the database of newer versions."""
    share, variable = _shared_data(machine)
    folder = share / "goose"
    if machine.platform == "win32":
        folder, variable = _user_data(machine) / "Block" / "goose" / "data", ""
    return Location(
        "Goose", folder, _below(folder, "sessions/*.jsonl", "sessions/sessions.db"), variable
    )


def _devin(machine: AgentMachine) -> Location:
    share, variable = _shared_data(machine)
    if machine.platform == "win32":
        share, variable = _local(machine), ""
    folder = share / "devin" / "cli"
    return Location("Devin CLI", folder, _below(folder, "transcripts/*.json"), variable)


def _shared_data(machine: AgentMachine) -> tuple[Path, str]:
    """Return the folder in which programs keep data, and the variable that names it."""
    given = environment_folder(machine, "XDG_DATA_HOME")
    return given or machine.home / ".local" / "share", "XDG_DATA_HOME" if given else ""


def environment_folder(machine: AgentMachine, variable: str) -> Path | None:
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

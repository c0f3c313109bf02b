"""The agents that turnetl is registered with: files, formats, events, and how they read an answer.

From the documentation and the source of the agents. Each hook imports this module: it must be fast.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from turnetl.install.config_text import ConfigEntry, ConfigFormat

SERVER = "turnetl"
"""The name of the server, by which a backfill recognises the calls of its tools."""
_TIMEOUT = 10
"""Seconds after which an agent stops waiting for a hook."""


class HookMoment(StrEnum):
    """When an agent calls turnetl."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    COMPACT = "compact"
    SESSION_END = "session-end"


class AnswerShape(StrEnum):
    """How an agent reads what a hook says to the model."""

    SPECIFIC = "hookSpecificOutput"
    CAMEL = "additionalContext"
    SNAKE = "additional_context"


class HandlerShape(StrEnum):
    """How an agent's file names the command of a hook."""

    GROUPED = "grouped"
    """In groups with a matcher: `{"hooks": [{"type": "command", "command": …}]}`."""
    FLAT = "flat"
    """`{"command": …}`."""
    SHELLS = "shells"
    """One command for each shell: `{"type": "command", "bash": …, "powershell": …}`."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event of an agent."""

    name: str
    matcher: str = ""


@dataclass(frozen=True, slots=True)
class AgentHooks:
    """The hooks of an agent."""

    file: str
    """Below the folder of its configuration."""
    events: Mapping[HookMoment, HookEvent]
    handler: HandlerShape
    answer: AnswerShape
    header: Mapping[str, Any] = field(default_factory=dict)
    """What a file of hooks must have beside them."""
    unit: int = 1
    """Units of its timeout in a second."""
    powershell: bool = False
    """Whether PowerShell runs its commands on Windows."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, as it is named on the command line."""

    name: str
    title: str
    folder: str
    """Of its configuration, below the home folder."""
    file: str
    """With the servers, below that folder; with `../`, beside it unless a variable names it."""
    path: tuple[str, ...]
    """To the servers in that file."""
    other_file: str = ""
    """Another name of that file, which is taken if it exists."""
    signs: tuple[str, ...] = ()
    """Other folders below the home folder that say that the agent is there."""
    variable: str = ""
    """The environment variable that names the folder."""
    below_variable: str = ""
    """The folder of its configuration below the one that the variable names."""
    kind: ConfigFormat = ConfigFormat.JSON
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What an entry of a server has beside command and arguments."""
    joined: bool = False
    """Whether one list holds the command and its arguments."""
    hooks: AgentHooks | None = None
    why_less: str = ""
    """Why some or all hooks do not exist; empty: all do."""
    advice: str = ""
    """What the user must do in the agent."""

    def moments(self) -> tuple[HookMoment, ...]:
        return tuple(self.hooks.events) if self.hooks is not None else ()


_CONTEXT_ONLY_AT_START = (
    "{} reads no context from a hook at a prompt or a compaction; its agent can search by itself"
)
_START = HookEvent("SessionStart", "startup|resume|clear")
_COMPACTED = HookEvent("SessionStart", "compact")
"""After a compaction: what a hook says before it is not kept."""
AGENTS = (
    Agent(
        "claude-code",
        "Claude Code",
        ".claude",
        "../.claude.json",
        ("mcpServers",),
        variable="CLAUDE_CONFIG_DIR",
        extra={"type": "stdio"},
        hooks=AgentHooks(
            "settings.json",
            {
                HookMoment.SESSION_START: _START,
                HookMoment.PROMPT: HookEvent("UserPromptSubmit"),
                HookMoment.COMPACT: _COMPACTED,
                HookMoment.SESSION_END: HookEvent("SessionEnd"),
            },
            HandlerShape.GROUPED,
            AnswerShape.SPECIFIC,
        ),
    ),
    Agent(
        "codex",
        "Codex CLI",
        ".codex",
        "config.toml",
        ("mcp_servers",),
        variable="CODEX_HOME",
        kind=ConfigFormat.TOML,
        hooks=AgentHooks(
            "hooks.json",
            {
                HookMoment.SESSION_START: _START,
                HookMoment.PROMPT: HookEvent("UserPromptSubmit"),
                HookMoment.COMPACT: _COMPACTED,
                # It has no event at the end: the next start backfills the sessions before it.
                HookMoment.SESSION_END: HookEvent("SessionStart", "startup"),
            },
            HandlerShape.GROUPED,
            AnswerShape.SPECIFIC,
            powershell=True,
        ),
        advice="Codex runs new hooks only after you trust them: open `/hooks` in it",
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        ".gemini",
        "settings.json",
        ("mcpServers",),
        variable="GEMINI_CLI_HOME",
        below_variable=".gemini",
        hooks=AgentHooks(
            "settings.json",
            {
                HookMoment.SESSION_START: HookEvent("SessionStart"),
                HookMoment.PROMPT: HookEvent("BeforeAgent"),
                HookMoment.SESSION_END: HookEvent("SessionEnd"),
            },
            HandlerShape.GROUPED,
            AnswerShape.SPECIFIC,
            unit=1_000,
            powershell=True,
        ),
        why_less="Gemini CLI reads no context from a hook at a compaction",
    ),
    Agent(
        "antigravity",
        "Antigravity",
        ".gemini/config",
        "mcp_config.json",
        ("mcpServers",),
        signs=(".gemini/antigravity", ".gemini/antigravity-cli"),
        why_less="Antigravity runs hooks of installed plugins only",
    ),
    Agent(
        "opencode",
        "OpenCode",
        ".config/opencode",
        "opencode.json",
        ("mcp",),
        other_file="opencode.jsonc",
        variable="XDG_CONFIG_HOME",
        below_variable="opencode",
        extra={"type": "local", "enabled": True},
        joined=True,
        why_less="OpenCode runs no commands as hooks, only plugins in JavaScript",
    ),
    Agent(
        "cursor",
        "Cursor",
        ".cursor",
        "mcp.json",
        ("mcpServers",),
        hooks=AgentHooks(
            "hooks.json",
            {
                HookMoment.SESSION_START: HookEvent("sessionStart"),
                HookMoment.SESSION_END: HookEvent("sessionEnd"),
            },
            HandlerShape.FLAT,
            AnswerShape.SNAKE,
            header={"version": 1},
            powershell=True,
        ),
        why_less=_CONTEXT_ONLY_AT_START.format("Cursor"),
    ),
    Agent(
        "copilot",
        "Copilot CLI",
        ".copilot",
        "mcp-config.json",
        ("mcpServers",),
        variable="COPILOT_HOME",
        extra={"type": "local", "tools": ["*"]},
        hooks=AgentHooks(
            "hooks/turnetl.json",
            {
                HookMoment.SESSION_START: HookEvent("sessionStart"),
                HookMoment.SESSION_END: HookEvent("sessionEnd"),
            },
            HandlerShape.SHELLS,
            AnswerShape.CAMEL,
            header={"version": 1},
        ),
        why_less=_CONTEXT_ONLY_AT_START.format("Copilot CLI"),
    ),
)


def server_entry(agent: Agent, command: Sequence[str]) -> ConfigEntry:
    """Return the entry of the server; `command`: program and options, without the verb."""
    program, *options = command
    words = ["mcp", *options]
    value: dict[str, Any] = {"command": program, "args": words}
    if agent.joined:
        value = {"command": [program, *words]}
    return ConfigEntry(agent.path, SERVER, {**agent.extra, **value}, _is_own_server)


def hook_entry(
    hooks: AgentHooks,
    moment: HookMoment,
    command: str,
    earlier: Mapping[str, Any] | None = None,
    *,
    renewed: bool = True,
) -> ConfigEntry:
    """Return the entry of a hook; `command`: see `hook_command`.

    `earlier`: a handler of an earlier installation. What a user added to it stays; if it is not
    renewed, all of it stays but for the program.
    """
    event, timeout = hooks.events[moment], _TIMEOUT * hooks.unit

    def is_own(value: Any) -> bool:
        words = [value.get(key) for key in _COMMANDS] if isinstance(value, dict) else []
        named = (_OWN_HOOK.search(one) for one in words if isinstance(one, str))
        return any(match is not None and match["moment"] == moment for match in named)

    handler: dict[str, Any] = {"command": command, "timeout": timeout}
    match hooks.handler:
        case HandlerShape.GROUPED:
            handler = {"type": "command", **handler}
        case HandlerShape.SHELLS:
            lines = {"bash": command, "powershell": _in_powershell(command)}
            handler = {"type": "command", **lines, "timeoutSec": timeout}
    if earlier is not None and renewed:
        handler = {**earlier, **handler}
    elif earlier is not None:
        handler = {key: _renewed(value, handler.get(key)) for key, value in earlier.items()}
    path = ("hooks", event.name)
    if hooks.handler is not HandlerShape.GROUPED:
        return ConfigEntry(path, None, handler, is_own)
    matcher = {"matcher": event.matcher} if event.matcher else {}
    return ConfigEntry(path, None, {**matcher, "hooks": [handler]}, is_own, "hooks")


def _renewed(earlier: Any, present: Any) -> Any:
    """Return an earlier command line with the program of the present one; others unchanged."""
    if not (isinstance(earlier, str) and isinstance(present, str)):
        return earlier
    old, new = _PROGRAM.match(earlier), _PROGRAM.match(present)
    return new[0] + earlier[old.end() :] if old is not None and new is not None else earlier


def hook_command(
    agent: Agent,
    moment: HookMoment,
    command: Sequence[str],
    options: Sequence[str] = (),
    *,
    windows: bool = False,
) -> str:
    """Return the command line of a hook; `command`: program and options, without the verb.

    On Windows an agent may run it in bash, PowerShell or cmd. A path with `/` and without spaces
    needs no quotes, and is a command in each of them; PowerShell prints a quoted one.
    """
    program, *words = command
    if windows:
        program = program.replace("\\", "/")
    verb = ["hook", moment.value, "--agent", agent.name]
    call = " ".join(map(shlex.quote, (program, *verb, *options, *words)))
    shell = agent.hooks is not None and agent.hooks.powershell
    return _in_powershell(call) if windows and shell and call.startswith("'") else call


def _in_powershell(call: str) -> str:
    """Return a call of a POSIX shell as one of PowerShell, where `''` is an apostrophe."""
    return "& " + call.replace("'\"'\"'", "''")


OWN_KEYS = frozenset(
    ("type", "command", "args", "enabled", "tools", "bash", "powershell", "timeout", "timeoutSec")
)
"""Keys of a server or a hook that turnetl writes."""
_COMMANDS = ("command", "bash")
_PROGRAM = re.compile(r"""(?:& )?(?:(?:'[^']*'|"[^"]*")+|\S+)(?= hook [a-z-]+ --agent )""")
"""The program of a command line, as it is quoted."""
_OWN_HOOK = re.compile(r"\b(?i:turnetl(?:\.exe)?)['\"]? hook (?P<moment>[a-z-]+) --agent ")


def _is_own_server(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    command, words = value.get("command"), value.get("args", [])
    if isinstance(command, list) and command:
        command, *words = command
    if not (isinstance(command, str) and isinstance(words, list)):
        return False
    return PurePath(command.replace("\\", "/")).stem.lower() == SERVER and words[:1] == ["mcp"]

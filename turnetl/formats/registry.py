"""The formats that turnetl reads, and the lookup of a format by content or by name.

A run in which no archive changed needs names and versions only: readers are imported on first use.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from turnetl.base.results import described

if TYPE_CHECKING:
    from turnetl.formats.port import ParsedArchive, Probe, Reader


@dataclass(frozen=True, slots=True)
class Format:
    """A format of archives."""

    name: Annotated[str, described("Name of the format, as --format takes it.")]
    title: Annotated[str, described("The agent or export that writes it.")]
    version: int
    """Increased when the same bytes give different turns, so that archives are read again."""
    reader: str
    """Its `formats.port.Reader`, or the class: the module in this package, a colon and the name."""

    @property
    @described("Versions of the agent whose archives were seen; empty if they name none.")
    def versions(self) -> str:
        return _VERSIONS.get(self.name, "")

    @property
    @described("What the agent records and turnetl reads, beside prompts.")
    def records(self) -> tuple[str, ...]:
        return tuple(name for name in RECORDED if name not in self.not_recorded)

    @property
    @described("What the agent does not record.")
    def not_recorded(self) -> tuple[str, ...]:
        missing, _ = _NOT_RECORDED.get(self.name, ("", ""))
        return tuple(name for name in RECORDED if name in missing.split())

    @property
    @described("What it records in a part of its sessions only; often empty.")
    def note(self) -> str:
        return _NOT_RECORDED.get(self.name, ("", ""))[1]

    def sniff(self, probe: "Probe") -> bool:
        return self._reader().sniff(probe)

    def read(self, data: bytes) -> "ParsedArchive":
        return self._reader().read(data)

    def _reader(self) -> "Reader":
        module, _, name = self.reader.partition(":")
        found: Reader | type[Reader] = getattr(import_module(f"turnetl.formats.{module}"), name)
        return found() if isinstance(found, type) else found


RECORDED = (
    *("answers", "calls", "results", "errors", "times", "tokens", "subagents", "session"),
    *("folder", "model"),
)
"""What an agent may record beside prompts. Results and errors are those of calls."""


@dataclass(frozen=True, slots=True)
class FormatsReport:
    """The formats that turnetl reads."""

    formats: Annotated[tuple[Format, ...], described("The formats.")]


PROMPT_HISTORY = "claude_history"
"""The format of prompts without responses. Transcripts of Claude Code hold both."""
CODEX_HISTORY = "codex_history"
"""The same of Codex CLI, whose prompts name no project."""
PROMPT_HISTORIES = (PROMPT_HISTORY, CODEX_HISTORY)

FORMATS = (
    Format("claude_code", "Claude Code sessions (JSONL)", 7, "claude:ClaudeCode"),
    Format("claude_web", "sessions exported from claude.ai/code (JSON)", 5, "claude:ClaudeWeb"),
    Format(
        PROMPT_HISTORY,
        "prompts in Claude Code's history.jsonl (JSONL)",
        2,
        "claude:ClaudeHistory",
    ),
    Format("codex", "Codex CLI rollouts, with and without the envelope (JSONL)", 5, "codex:Codex"),
    Format("codex_json", "rollouts of the first Codex CLI (JSON)", 5, "codex:CodexDocument"),
    Format("gemini_json", "Gemini CLI sessions (JSON)", 5, "gemini:GeminiJson"),
    Format("gemini_jsonl", "Gemini CLI sessions (JSONL)", 5, "gemini:GeminiJsonl"),
    Format(
        "gemini_stream",
        "Gemini CLI runs printed with --output-format stream-json (JSONL)",
        5,
        "gemini:GeminiStream",
    ),
    Format("cline", "Cline and Roo Code tasks (JSON)", 2, "agents.cline:Cline"),
    Format("amp", "Amp threads (JSON)", 3, "agents.amp:Amp"),
    Format("aider", "Aider's .aider.chat.history.md (Markdown)", 1, "agents.aider:Aider"),
    Format("goose", "Goose sessions (JSONL, database)", 2, "agents.goose:Goose"),
    Format("zed", "threads of Zed's agent (its database)", 2, "agents.zed:Zed"),
    Format("hermes", "Hermes sessions (its database)", 2, "agents.hermes:HERMES"),
    Format(
        "openai_conv", "chats as OpenAI's messages (JSON, JSONL)", 4, "chat:OpenAIConversations"
    ),
    Format("sharegpt", "chats as ShareGPT's conversations (JSON, JSONL)", 3, "chat:ShareGPT"),
    Format(
        "opencode",
        "OpenCode and Kilo Code sessions: exports, stores, databases",
        6,
        "opencode:OpenCode",
    ),
    Format("copilot", "GitHub Copilot CLI sessions (JSONL)", 2, "agents.copilot:COPILOT_CLI"),
    Format(
        "copilot_chat",
        "GitHub Copilot chats in VS Code (JSON, JSONL)",
        2,
        "agents.copilot_chat:CopilotChat",
    ),
    Format(
        "pi",
        "Pi, OpenClaw, OMP, Factory Droid; Hugging Face traces (JSONL)",
        2,
        "agents.pi:PI_AGENT",
    ),
    Format(
        "cursor",
        "Cursor: transcripts of its CLI, chats of its editor",
        2,
        "agents.cursor:CURSOR_CLI",
    ),
    Format("qwen", "Qwen Code sessions (JSONL)", 2, "agents.qwen:QWEN_CODE"),
    Format("kiro", "Kiro CLI sessions (JSONL, database)", 2, "agents.kiro:KIRO_CLI"),
    Format("antigravity", "Antigravity transcripts (JSONL)", 2, "agents.antigravity:ANTIGRAVITY"),
    Format("kimi", "Kimi Code sessions (JSONL)", 2, "agents.kimi:KIMI"),
    Format("continue", "Continue sessions (JSON)", 2, "agents.continue_dev:Continue"),
    Format("windsurf", "Windsurf transcripts (JSONL)", 2, "agents.windsurf:WINDSURF"),
    Format("grok", "Grok CLI sessions (JSONL)", 2, "agents.grok:GROK"),
    Format("deepseek", "DeepSeek sessions (JSONL)", 2, "agents.deepseek:DEEPSEEK"),
    Format("atif", "trajectories in Harbor's ATIF (JSON)", 2, "agents.atif:Atif"),
    Format("chatgpt", "the export of ChatGPT (JSON)", 1, "agents.chatgpt:ChatGptExport"),
    Format("claude_ai", "the export of Claude.ai (JSON)", 1, "agents.claude_ai:ClaudeAiExport"),
    Format(CODEX_HISTORY, "prompts in Codex CLI's history.jsonl (JSONL)", 1, "codex:CodexHistory"),
)
"""Every format, in the order in which they are tried: the first that fits reads an archive."""

_VERSIONS = {
    "claude_code": "1.0 to 2.1",
    "codex": "0.42 to 0.153",
    "gemini_json": "up to 0.39",
    "gemini_jsonl": "since 0.40",
    "opencode": "0.1 to 2.0",
    "copilot": "1.0",
    "qwen": "0.4 to 0.15",
    "atif": "1.0 to 1.7",
}
_PROMPTS_ONLY = "answers calls results errors tokens subagents model"
_NOT_RECORDED = {
    PROMPT_HISTORY: (_PROMPTS_ONLY, ""),
    CODEX_HISTORY: (f"{_PROMPTS_ONLY} folder", ""),
    "codex_json": ("tokens subagents folder model", ""),
    "gemini_stream": ("subagents folder", ""),
    "openai_conv": ("tokens subagents session folder", "times and model only in some"),
    "sharegpt": ("errors times tokens subagents session folder model", ""),
    "cline": ("tokens", "tasks in VS Code: no session, and in Cline no times"),
    "aider": (
        "errors tokens subagents session folder",
        "times only of the first prompt of a session (local, read as UTC); no outputs of commands",
    ),
    "goose": ("tokens", "their sums of a session are not read; model only in newer databases"),
    "zed": ("times tokens", "those of the last request of a turn are not read"),
    "hermes": ("errors tokens", "a session's sums of tokens are not read"),
    "copilot": ("tokens", "their sums of a session are not read"),
    "copilot_chat": ("tokens", "those of the last request of a turn are not read"),
    "pi": ("", "Factory Droid: no tokens"),
    "cursor": (
        "tokens",
        "CLI: no results, errors, subagents, session, folder, model; times only of newer prompts",
    ),
    "kiro": ("tokens subagents", "times only of prompts; session only in its database"),
    "antigravity": ("tokens subagents session folder", ""),
    "kimi": ("session", ""),
    "continue": ("times tokens subagents model", ""),
    "windsurf": ("times tokens subagents session model", "folder only after a command"),
    "grok": ("tokens subagents model", ""),
    "deepseek": ("tokens model", ""),
    "atif": ("", "errors only in exports of turnetl"),
    "chatgpt": ("errors tokens subagents folder", ""),
    "claude_ai": ("tokens subagents folder model", ""),
}
"""By name of the format: words of `RECORDED`, and what is recorded in part only."""


def sniff(data: bytes) -> Format | None:
    from turnetl.formats.kit.probe import Probe  # noqa: PLC0415 - only for an archive

    probe = Probe(data)
    return next((candidate for candidate in FORMATS if candidate.sniff(probe)), None)


def by_name(name: str) -> Format | None:
    return next((candidate for candidate in FORMATS if candidate.name == name), None)

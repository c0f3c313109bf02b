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
    """Its `formats.port.Reader`: the module within this package, a colon and the class."""

    def sniff(self, probe: "Probe") -> bool:
        return self._reader().sniff(probe)

    def read(self, data: bytes) -> "ParsedArchive":
        return self._reader().read(data)

    def _reader(self) -> "Reader":
        module, _, name = self.reader.partition(":")
        reader: Reader = getattr(import_module(f"turnetl.formats.{module}"), name)()
        return reader


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
    Format("claude_code", "Claude Code sessions, 1.0 to 2.1 (JSONL)", 5, "claude:ClaudeCode"),
    Format("claude_web", "sessions exported from claude.ai/code (JSON)", 4, "claude:ClaudeWeb"),
    Format(
        PROMPT_HISTORY,
        "prompts in Claude Code's history.jsonl (JSONL)",
        2,
        "claude:ClaudeHistory",
    ),
    Format("codex", "Codex CLI rollouts, with and without the envelope (JSONL)", 4, "codex:Codex"),
    Format("codex_json", "rollouts of the first Codex CLI (JSON)", 4, "codex:CodexDocument"),
    Format("gemini_json", "Gemini CLI sessions up to 0.39 (JSON)", 4, "gemini:GeminiJson"),
    Format("gemini_jsonl", "Gemini CLI sessions since 0.40 (JSONL)", 4, "gemini:GeminiJsonl"),
    Format(
        "gemini_stream",
        "Gemini CLI runs printed with --output-format stream-json (JSONL)",
        4,
        "gemini:GeminiStream",
    ),
    Format("cline", "Cline and Roo Code tasks (JSON)", 1, "agents.cline:Cline"),
    Format("amp", "Amp threads (JSON)", 1, "agents.amp:Amp"),
    Format("aider", "Aider's .aider.chat.history.md (Markdown)", 1, "agents.aider:Aider"),
    Format("goose", "Goose sessions (JSONL)", 1, "agents.goose:Goose"),
    Format(
        "openai_conv", "chats as OpenAI's messages (JSON, JSONL)", 3, "chat:OpenAIConversations"
    ),
    Format("sharegpt", "chats as ShareGPT's conversations (JSON, JSONL)", 3, "chat:ShareGPT"),
    Format(
        "opencode",
        "OpenCode and Kilo Code sessions: exports, stores, databases",
        4,
        "opencode:OpenCode",
    ),
    Format("copilot", "GitHub Copilot CLI sessions (JSONL)", 1, "agents.copilot:CopilotCli"),
    Format(
        "copilot_chat",
        "GitHub Copilot chats in VS Code (JSON, JSONL)",
        1,
        "agents.copilot_chat:CopilotChat",
    ),
    Format(
        "pi", "Pi, OpenClaw, OMP, Factory Droid; Hugging Face traces (JSONL)", 1, "agents.pi:Pi"
    ),
    Format("cursor", "Cursor CLI transcripts (JSONL)", 1, "agents.cursor:CursorCli"),
    Format("qwen", "Qwen Code sessions (JSONL)", 1, "agents.qwen:QwenCode"),
    Format("kiro", "Kiro CLI sessions (JSONL)", 1, "agents.kiro:KiroCli"),
    Format("antigravity", "Antigravity transcripts (JSONL)", 1, "agents.antigravity:Antigravity"),
    Format("kimi", "Kimi Code sessions (JSONL)", 1, "agents.kimi:Kimi"),
    Format("continue", "Continue sessions (JSON)", 1, "agents.continue_dev:Continue"),
    Format("windsurf", "Windsurf transcripts (JSONL)", 1, "agents.windsurf:Windsurf"),
    Format("grok", "Grok CLI sessions (JSONL)", 1, "agents.grok:Grok"),
    Format("deepseek", "DeepSeek sessions (JSONL)", 1, "agents.deepseek:DeepSeek"),
    Format("atif", "trajectories in Harbor's ATIF (JSON)", 1, "agents.atif:Atif"),
    Format("chatgpt", "the export of ChatGPT (JSON)", 1, "agents.chatgpt:ChatGptExport"),
    Format("claude_ai", "the export of Claude.ai (JSON)", 1, "agents.claude_ai:ClaudeAiExport"),
    Format(CODEX_HISTORY, "prompts in Codex CLI's history.jsonl (JSONL)", 1, "codex:CodexHistory"),
)
"""Every format, in the order in which they are tried: the first that fits reads an archive."""


def sniff(data: bytes) -> Format | None:
    from turnetl.formats.kit.probe import Probe  # noqa: PLC0415 - only for an archive

    probe = Probe(data)
    return next((candidate for candidate in FORMATS if candidate.sniff(probe)), None)


def by_name(name: str) -> Format | None:
    return next((candidate for candidate in FORMATS if candidate.name == name), None)

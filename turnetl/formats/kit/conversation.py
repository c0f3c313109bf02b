"""A conversation that is read row by row, for agents that record prompts, answers and tool calls.

A reader says what a row holds. Each method returns None if that added something to a turn, else the
reason why not; `first_of` gives the reason for a row of several parts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.message_parts import (
    first_of,
    media_of,
    objects,
    plain_text,
    text_of,
    texts_of,
)
from turnetl.formats.kit.row_decoder import decode_lenient, decode_text
from turnetl.formats.kit.tool_input import as_text, format_input
from turnetl.formats.kit.turn_builder import (
    TurnBuilder,
    derived_session_id,
    extend,
)
from turnetl.formats.kit.usage import AnthropicUsage, MessageTokens, Usage, add_message
from turnetl.formats.port import ParsedArchive, RawToolCall, RawTurn, SourceSpan

_ASKING = frozenset(
    {
        *("ask_user", "ask_user_question", "ask_question"),
        *("AskUser", "AskUserQuestion", "AskQuestion"),
    }
)
"""Tools whose result is what the user replied to a question of the agent."""
_SUBAGENT = ("subagent_type", "subagentType", "agent_type", "agentType", "agentName")
"""Arguments of a tool that starts a subagent; its `prompt` is for the subagent."""


@dataclass(slots=True)
class Conversation:
    """The turns of one archive, whose rows are read in file order."""

    builder: TurnBuilder = field(default_factory=TurnBuilder)
    span: SourceSpan = field(default_factory=lambda: SourceSpan(1, 1, 0, 0))
    """Of the row that is read."""
    time: datetime | None = None
    """Of the row that is read."""
    session: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    model: str | None = None
    current: RawTurn | None = None
    """The turn opened last in the session; None before its first prompt."""
    is_subagent: bool = False
    """Whether the archive is the session of a subagent."""
    started_by: str | None = None
    """The session whose agent started it, if the archive says which."""
    first_cwd: str | None = None
    pending: list[str] = field(default_factory=list)
    """Keys of calls whose results come in the order of the calls, without a key."""
    _prompts: dict[str, str] = field(default_factory=dict)
    """The texts of prompts by the ids of their turns."""
    _last: dict[str, RawTurn] = field(default_factory=dict)
    """The last turn of each session."""
    _chunked: list[str] | None = None
    """The texts of the turn, if the last one may go on."""
    _response: str = ""
    """What the agent said or called first."""
    _messages: int = 0
    """API messages without an id."""
    _runs: dict[str, "Conversation"] = field(default_factory=dict)
    """Those of subagents, by their ids."""

    def describe(
        self,
        session: object = None,
        cwd: object = None,
        branch: object = None,
        version: object = None,
        model: object = None,
    ) -> SkipReason:
        """Describe the turns that follow; what is no text, or empty, changes nothing."""
        self.session = text_of(session) or self.session
        self.cwd = text_of(cwd) or self.cwd
        self.branch = text_of(branch) or self.branch
        self.version = text_of(version) or self.version
        if model := text_of(model):
            self.model, turn = model, self.current
            # The prompt before it was opened with the model of the turn before.
            if turn is not None and not (turn.assistant_texts or turn.tool_calls):
                turn.model = model
        self.first_cwd = self.first_cwd or self.cwd
        return SkipReason.SESSION_METADATA

    def start(self, session: object) -> None:
        """Start or continue another session: what follows belongs to no turn of others."""
        self.session, self.model = text_of(session), None
        self.current = self._last.get(self.session or "")
        self.builder.calls.clear()

    def prompt(
        self,
        text: object,
        prompt_id: object = None,
        *,
        otherwise: SkipReason = SkipReason.NO_TEXT,
        native_id: str | None = None,
    ) -> SkipReason | None:
        """Open a turn, unless there is no text: `otherwise` says why.

        The id of the turn is `native_id`, else that of the prompt in its session.
        """
        if not (text := text_of(text)):
            return otherwise
        prompt_id = text_of(prompt_id)
        if native_id is None and prompt_id and self.session:
            native_id = f"{self.session} {prompt_id}"
        if native_id in self._prompts:
            if self._prompts[native_id] == text:
                return SkipReason.DUPLICATE
            native_id = None
        turn = self.builder.open(
            text,
            self.span,
            self.time,
            session=self.session,
            native_id=native_id,
            prompt_id=prompt_id,
            previous=self.current,
        )
        if native_id is not None:
            self._prompts[native_id] = text
        turn.ended_at, turn.cwd, turn.model = self.time, self.cwd, self.model
        turn.git_branch, turn.app_version = self.branch, self.version
        self.current = turn
        if self.session is not None:
            self._last[self.session] = turn
        return None

    def steer(self, text: object) -> SkipReason | None:
        """Add what the user typed while the agent worked."""
        if not (text := text_of(text)):
            return SkipReason.NO_TEXT
        turn = self.turn()
        self.builder.add_steering(turn, [text])
        return SkipReason.PREAMBLE if turn is None else None

    def answer(self, *texts: object) -> SkipReason | None:
        """Add texts of the agent to the turn."""
        written = [text for text in map(text_of, texts) if text]
        if not written:
            return SkipReason.NO_TEXT
        if (turn := self.turn()) is None:
            return SkipReason.PREAMBLE
        turn.assistant_texts += written
        self._response = self._response or written[0]
        return None

    def chunk(self, text: object) -> SkipReason | None:
        """Add a piece of a text that the rows before and after continue."""
        if not isinstance(text, str) or not text:
            return SkipReason.NO_TEXT
        if (turn := self.turn()) is None:
            return SkipReason.PREAMBLE
        if self._chunked is not turn.assistant_texts:
            self._chunked = turn.assistant_texts
            turn.assistant_texts.append("")
            self._response = self._response or text
        turn.assistant_texts[-1] += text
        return None

    def call(self, name: object, arguments: object, key: object = None) -> SkipReason | None:
        """Add a tool call, whose result a later row gives under the key."""
        if (turn := self.turn()) is None:
            self.builder.counts.tool_calls += 1
            return SkipReason.PREAMBLE
        if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
            arguments = decode_text(arguments, arguments)
        call = RawToolCall(text_of(name) or "", format_input(arguments), arguments=arguments)
        self._chunked = None
        self.builder.add_call(turn, call, len(as_text(arguments)), text_of(key))
        self._response = self._response or f"{call.name} {call.input}"
        if isinstance(arguments, dict) and any(name in arguments for name in _SUBAGENT):
            kind = next(arguments[name] for name in _SUBAGENT if name in arguments)
            self.builder.add_start(turn, arguments.get("prompt"), text_of(key), kind)
        return None

    def result(self, key: object, output: object, *, is_error: bool = False) -> SkipReason | None:
        """Add the result of a call."""
        call = self.builder.calls.get(text_of(key) or "")
        turn = self.turn()
        if call is None:
            return SkipReason.PREAMBLE if turn is None else SkipReason.ORPHAN
        call.result, call.is_error, call.ended_at = as_text(output), is_error, self.time
        if call.name in _ASKING and not is_error:
            self.builder.add_answer(turn, text_of(call.result))
        return None

    def returned(
        self, part: dict[str, Any], key: str = "toolCallId", error: str = "isError"
    ) -> SkipReason | None:
        """Add the result that a part or a message holds, by the names of its key and error."""
        output = plain_text(part.get("content"))
        return self.result(part.get(key), output, is_error=part.get(error) is True)

    def content(
        self,
        role: object,
        content: object,
        prompt_id: object = None,
        *,
        words: Callable[[str], str] = str,
        native_id: str | None = None,
    ) -> SkipReason | None:
        """Add a message whose content is a text, or a list of texts, calls and results.

        The user's texts are one prompt. `words` returns what of each text the user or the agent
        wrote. Reasoning adds nothing.
        """
        parts = content if isinstance(content, list) else [content]
        reasons = [reason for part in objects(parts) for reason in self._part(part)]
        texts = [*texts_of(parts)]
        match role:
            case "user" if texts or (texts := [*media_of(parts)]):
                prompt = "\n\n".join(filter(str.strip, map(words, texts)))
                otherwise = SkipReason.CONTEXT
                reasons.append(
                    self.prompt(prompt, prompt_id, otherwise=otherwise, native_id=native_id)
                )
            case "assistant" | "model":
                reasons.append(self.answer(*map(words, texts)))
            case "system" | "developer":
                reasons.append(SkipReason.SYSTEM)
        return first_of(reasons)

    def _part(self, part: dict[str, Any]) -> Iterator[SkipReason | None]:
        """Read a call or a result, in the spellings that agents have for them."""
        match part.get("type"):
            case "tool_use" | "toolCall":
                arguments = part.get("input", part.get("arguments"))
                yield self.call(part.get("name"), arguments, part.get("id"))
            case "tool_result":
                yield self.returned(part, "tool_use_id", "is_error")
            case "thinking" | "think" | "reasoning" | "redacted_thinking":
                yield SkipReason.REASONING

    def usage(self, message_id: object, kind: type[Usage], value: object) -> None:
        """Record the tokens of an API message once; the id is unique in its session."""
        if (message := self._tokens(kind, value, self.model)) is None:
            return
        key = self._message_key(message_id)
        if self.current is None:
            self.builder.subagents.add_own(self.session, key, message)
        else:
            add_message(self.current.usage, key, message)

    def sidechain(  # noqa: PLR0917
        self,
        read: Callable[["Conversation"], object],
        agent: object = None,
        message_id: object = None,
        kind: type[Usage] = AnthropicUsage,
        value: object = None,
        model: object = None,
    ) -> SkipReason:
        """Count a row of a subagent, with its tokens if it has any; `read` adds it to its run."""
        self.builder.counts.sidechain_rows += 1
        read(self._run_of(text_of(agent) or self.session or "", text_of(model)))
        if (message := self._tokens(kind, value, text_of(model))) is not None:
            key, session = self._message_key(message_id), self.session
            self.builder.subagents.add(
                session, text_of(agent), started_by=session, key=key, message=message
            )
        return SkipReason.SIDECHAIN

    def _run_of(self, agent: str, model: str | None) -> "Conversation":
        """Return the conversation of a subagent, at the row that is read."""
        run = self._runs.get(agent)
        if run is None:
            run = self._runs[agent] = Conversation(session=agent)
            run.current = run.builder.open("", self.span, self.time)
            if not self.is_subagent and agent not in self.builder.starts:
                self.builder.link(self.current, None, agent)
        run.span, run.time, run.cwd = self.span, self.time, self.cwd
        run.model = model or run.model or self.model
        return run

    def _tokens(self, kind: type[Usage], value: object, model: str | None) -> MessageTokens | None:
        usage = decode_lenient(kind, value) if isinstance(value, dict) else kind()
        return None if usage == kind() else MessageTokens(usage, model, self.time)

    def _message_key(self, message_id: object) -> str:
        if (key := text_of(message_id)) is None:
            self._messages += 1
            key = f"{self._messages}"
        return f"{self.session} {key}"

    def interrupt(self) -> SkipReason | None:
        """Close the turn because the user, or an error, interrupted it."""
        if (turn := self.turn()) is None:
            return SkipReason.PREAMBLE
        turn.closed_by = ClosedBy.INTERRUPTED
        return None

    def turn(self) -> RawTurn | None:
        """Return the current turn, extended to the row; None before the first prompt."""
        turn = self.current
        if turn is not None:
            extend(turn, self.span, self.time)
            turn.model, turn.cwd = turn.model or self.model, turn.cwd or self.cwd
        return turn

    def finish(self) -> ParsedArchive:
        """Return the turns. Without a time, the first response tells sessions apart, too."""
        for agent, run in self._runs.items():
            parent = self.started_by if self.is_subagent else self.session
            self.builder.add_run_of(run.builder.turns, parent, agent)
        session, first = self.session, next(iter(self.builder.turns), None)
        if session is None and first is not None and first.started_at is None:
            session = derived_session_id(first.user_text, self._response)
        return self.builder.finish(session, self.first_cwd)

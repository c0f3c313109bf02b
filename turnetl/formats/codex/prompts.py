"""The prompts of a rollout, each once, although Codex writes most of them in several rows.

A prompt is an event (`user_message`), a completed item (`UserMessage`) or a message of role user,
or several of these, in any order. Codex itself writes messages of role user, too: one is held until
the event or the item with its text, or the agent's response, tells what it is. Others are known by
the patterns by which Codex recognises its own text, since its first versions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from turnetl.base.reason import SkipReason
from turnetl.formats.codex.rows import CodexEntry
from turnetl.formats.port import RawTurn

PromptKind = Literal["event", "item", "message"]
"""The kind of the row that holds a prompt."""
_ENCLOSED = re.compile(r"\s*<([a-z]+(?:[_-][a-z]+)+)[\s>].*</\1>\s*", re.DOTALL)
"""A text within one unknown tag whose name has several words, as Codex encloses what it inserts.
This is asked only in rollouts whose prompts have events."""
_PLACEHOLDER = re.compile(r"\s*\[(?:redacted|trimmed)[^\]]*\]\s*", re.IGNORECASE)


class Prompt(NamedTuple):
    """A row that holds a prompt."""

    entry: CodexEntry
    kind: PromptKind
    text: str
    """Without the editor's context."""
    turn_id: str | None
    """The globally unique id of its task, if it is known."""
    row_turn_id: str | None = None
    """The id that the row names; older ones are unique within the session only."""

    @property
    def folded(self) -> str:
        """The text without whitespace: Codex joins the parts of a message in several ways."""
        return "".join(self.text.split())


@dataclass(slots=True)
class _Opened:
    """A prompt that opened a turn, and the rows that hold it."""

    prompt: Prompt
    folded: str
    turn: RawTurn
    kinds: set[PromptKind]
    line: int
    """The last of them."""

    @property
    def turn_id(self) -> str | None:
        return self.turn.prompt_id or self.prompt.turn_id


@dataclass(slots=True)
class Prompts:
    """The prompts that rows to come may repeat."""

    held: list[Prompt] = field(default_factory=list)
    """Messages that no event has repeated yet and no agent has responded to."""
    _has_events: bool = False
    """Whether the rollout has prompts other than messages: then these are less trustworthy."""
    _opened: list[_Opened] = field(default_factory=list)
    """The last prompt, those of its task before it, and those without a response before it."""

    def is_repeated(self, prompt: Prompt, *, is_answered: bool) -> bool:
        """Return whether a row repeats a prompt; `is_answered`: the agent did something since."""
        folded = prompt.folded
        for opened in self._opened:
            if opened.folded == folded and _may_repeat(opened, prompt, is_answered=is_answered):
                opened.kinds.add(prompt.kind)
                opened.line = prompt.entry.span.line
                return True
        last = self._opened[-1] if self._opened and not is_answered else None
        if last is None or prompt.kind in last.kinds or not _is_adjacent(last, prompt):
            return False
        last.kinds.add(prompt.kind)
        return True

    def take_held(self, prompt: Prompt) -> tuple[list[Prompt], list[Prompt], bool]:
        """Take the messages before an event or an item, by what it tells about them.

        Returns the held messages that are prompts of their own, those that are not, and whether one
        of them repeats the prompt. If one does, those before it are text that Codex inserted.
        """
        self._has_events = True
        match = self._match(prompt)
        if match is None:
            held, self.held = self.held, []
            return *_without_inserted(held), False
        inserted, self.held = self.held[:match], self.held[match + 1 :]
        return [], inserted, True

    def take_all(self, *, lacks_prompt: bool) -> tuple[list[Prompt], list[Prompt]]:
        """Return the held messages that are prompts, and those that are not.

        If the agent responds to one of them, or was to, and none is one for certain, the last is a
        prompt in whatever tag it is.
        """
        held, self.held = self.held, []
        if not self._has_events:
            return held, []
        own, inserted = _without_inserted(held)
        if lacks_prompt and not own and held and _ENCLOSED.fullmatch(held[-1].text):
            own, inserted = held[-1:], held[:-1]
        return own, inserted

    def add_turn_id(self, turn_id: str | None) -> None:
        self.held = [one._replace(turn_id=one.turn_id or turn_id) for one in self.held]

    def remember(
        self, prompt: Prompt, turn: RawTurn, kinds: set[PromptKind], *, is_answered: bool
    ) -> None:
        """Remember a prompt that opened a turn, with the kinds of the rows that hold it so far."""
        if is_answered:
            same_task = prompt.turn_id is not None
            self._opened = [
                one for one in self._opened if same_task and one.turn_id == prompt.turn_id
            ]
        line = prompt.entry.span.line
        self._opened.append(_Opened(prompt, prompt.folded, turn, kinds, line))

    def end_task(self) -> None:
        """Forget the prompts: a row after the end of a task repeats none of them."""
        self._opened.clear()

    def _match(self, prompt: Prompt) -> int | None:
        folded = prompt.folded
        equal = (place for place, one in enumerate(self.held) if one.folded == folded)
        if (match := next(equal, None)) is not None or not self.held:
            return match
        last = self.held[-1]
        is_before = prompt.entry.span.line - last.entry.span.line <= 1
        return len(self.held) - 1 if is_before and are_versions(last.text, prompt.text) else None


@dataclass(slots=True)
class RepeatedRows:
    """Recognises rows that a rollout holds twice under the same number."""

    _rows: set[tuple[object, ...]] = field(default_factory=set)

    def is_repeated(self, entry: CodexEntry) -> bool:
        """Return whether a row with the same number and the same content was read before."""
        row, item = entry.row, entry.item
        # A rollout whose numbers were removed has 0 in their place.
        if not row.ordinal or row.type not in {"event_msg", "response_item"}:
            return False
        content = tuple(_content(entry))
        if not any(content):
            return False
        inner = item.item.type if item.item is not None else None
        key = (row.ordinal, row.type, item.type, inner, item.turn_id, *content)
        if key in self._rows:
            return True
        self._rows.add(key)
        return False

    def clear(self) -> None:
        """Forget the rows: those of another session have numbers of their own."""
        self._rows.clear()


def _content(entry: CodexEntry) -> Iterator[str]:
    """Yield the texts that identify a row. The id of a text may differ when it is repeated."""
    item = entry.item.item or entry.item
    parts = item.content if isinstance(item.content, list) else [item.content]
    texts = [part if isinstance(part, str) else part and part.text for part in parts]
    yield item.message or item.text or "".join(text for text in texts if text)
    yield item.call_id or (item.id if not any(texts) else None) or ""


def _without_inserted(held: list[Prompt]) -> tuple[list[Prompt], list[Prompt]]:
    """Return the messages that no event repeats, and those among them that Codex inserted.

    A redacted text shows nothing of what it was; the user's prompts have events beside it.
    """
    inserted = [
        one for one in held if _ENCLOSED.fullmatch(one.text) or _PLACEHOLDER.fullmatch(one.text)
    ]
    return [one for one in held if one not in inserted], inserted


def _may_repeat(opened: _Opened, prompt: Prompt, *, is_answered: bool) -> bool:
    """Return whether a row with the same text may hold a prompt once more."""
    ids = opened.turn_id, prompt.turn_id
    if None in ids:
        first = opened.prompt
        is_migrated = prompt.row_turn_id is not None and prompt.row_turn_id == first.row_turn_id
        is_other_kind = prompt.kind not in opened.kinds
        return not is_answered and (is_other_kind or (is_migrated and prompt.kind != "event"))
    if ids[0] != ids[1]:
        return False
    # Migration writes an item twice. A user steers with the same words after a response.
    return prompt.kind not in opened.kinds or (prompt.kind != "event" and not is_answered)


def _is_adjacent(opened: _Opened, prompt: Prompt) -> bool:
    """Return whether a row directly follows a prompt and holds a version of its text."""
    is_next = prompt.entry.span.line - opened.line <= 1
    return is_next and are_versions(opened.prompt.text, prompt.text)


_TAGS = {
    SkipReason.INSTRUCTIONS: (
        ("# agents.md instructions", "</instructions>"),
        ("<user_instructions>", "</user_instructions>"),
        ("<permissions", ">"),
        ("<collaboration_mode>", "</collaboration_mode>"),
    ),
    SkipReason.ENVIRONMENT: (("<environment_context>", "</environment_context>"),),
    SkipReason.SKILL: (
        ("<skill>", "</skill>"),
        ("<skills_instructions>", "</skills_instructions>"),
        ("<recommended_plugins>", "</recommended_plugins>"),
    ),
    SkipReason.SHELL_COMMAND: (("<user_shell_command>", "</user_shell_command>"),),
    SkipReason.INTERRUPT: (("<turn_aborted>", "</turn_aborted>"),),
    SkipReason.NOTIFICATION: (
        ("<subagent_notification>", "</subagent_notification>"),
        ("<agent_message_board_notification>", "</agent_message_board_notification>"),
    ),
    SkipReason.REVIEW: (("<user_action>", "</user_action>"),),
    SkipReason.HOOK: (("<hook_prompt ", "</hook_prompt>"),),
    SkipReason.GOAL: (
        ("<codex_internal_context", "</codex_internal_context>"),
        ("<goal_context>", "</goal_context>"),
    ),
    SkipReason.EXTENSION: (
        ("<extension_context>", "</extension_context>"),
        ("<in-app-browser-context", "</in-app-browser-context>"),
    ),
}
"""The start and the end of each text that the client inserts, by reason."""
_TAGGED = [(start, end, reason) for reason, tags in _TAGS.items() for start, end in tags]
_ENDS = tuple(end for _, end, _ in _TAGGED if end != ">")
_EXTERNAL = re.compile(r"<external_([^>\s]+)>.*</external_\1>", re.DOTALL)
_PREFIXES = {
    SkipReason.WARNING: (
        "Warning: The maximum number of unified exec processes you can keep open is",
        "Warning: Your account was flagged for potentially high-risk cyber activity",
        "Warning: apply_patch was requested via ",
    ),
    SkipReason.COMPACTION: (
        "Another language model started to solve this problem and produced a summary",
        "You were originally given instructions from a user over one or more turns",
        "You have exceeded the maximum number of tokens, please stop coding",
        "You are performing a CONTEXT CHECKPOINT COMPACTION",
    ),
}
_EXACT_TEXTS = {
    "Start Summarization": SkipReason.COMPACTION,
    "No, don't do that \u2014 keep going though.": SkipReason.REJECTION,
}
_KINDS = {
    "user_instructions": SkipReason.INSTRUCTIONS,
    "environment_context": SkipReason.ENVIRONMENT,
}
_INSERTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions[^\n]*\s*<INSTRUCTIONS>.*?</INSTRUCTIONS>"
    r"|<(environment_context|in-app-browser-context|user_instructions|extension_context"
    r"|recommended_plugins|skills_instructions)\b[^>]*>.*?</\1>)\s*",
    re.DOTALL,
)
"""A text that Codex inserts before a prompt in the same message."""
_REQUEST = re.compile(r"^#+ My request for Codex:[ \t]*", re.MULTILINE)
_EDITOR_CONTEXT = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_IMAGE = re.compile(r"\s*(?:<image(?: name=[^>]*)?>|</image>)\s*")
_CWD = re.compile(r"<cwd>(.+?)</cwd>|^Current working directory: (.+?)$", re.MULTILINE)
_REDACTED = re.compile(r"redacted|trimmed|\*{3}|\u2588", re.IGNORECASE)
_PREFIX = 8
"""Characters that two redactions of a text have in common at the start."""
_MARKUP = re.compile(r"<\w|^#|\[")
IMAGE = "[image]"


def skip_reason(text: str, kind: str | None = None) -> SkipReason | None:
    """Return why a text is not the user's, or None. `kind` is what old versions wrote beside it."""
    text = text.strip()
    if kind in _KINDS:
        return _KINDS[kind]
    if text[:1] in {"<", "#"}:
        return _tagged(text)
    prefixed = (reason for reason, prefixes in _PREFIXES.items() if text.startswith(prefixes))
    return _EXACT_TEXTS.get(text) or next(prefixed, None)


def _tagged(text: str) -> SkipReason | None:
    """Return the reason that the tags around a text give. Several tagged texts may follow."""
    head, tail = text[:40].lower(), text[-60:].lower()
    for start, end, reason in _TAGGED:
        if head.startswith(start) and (tail.endswith(end) or tail.endswith(_ENDS)):
            return reason
    return SkipReason.EXTERNAL if _EXTERNAL.fullmatch(text) else None


def without_context(text: str) -> str:
    """Return a prompt without the context before it; if there is only context, that."""
    while (inserted := _INSERTED.match(text)) and inserted.end() < len(text):
        text = text[inserted.end() :]
    heading = _REQUEST.search(text) if text.lstrip().startswith(_EDITOR_CONTEXT) else None
    prompt = text[heading.end() :].strip() if heading is not None else ""
    return prompt or text.strip()


def is_image_tag(text: str) -> bool:
    return _IMAGE.fullmatch(text) is not None


def working_folder(text: str) -> str | None:
    """Return the working directory in the client's description of the environment."""
    match = _CWD.search(text)
    return (match[1] or match[2]).strip() if match is not None else None


def are_versions(first: str, second: str) -> bool:
    """Return whether texts on adjacent lines are versions of one.

    One may have tags and a context that the other lacks, or they were redacted in two ways.
    """
    first, second = ("".join(text.split()) for text in (first, second))
    shorter, longer = sorted((first, second), key=len)
    before, found, after = longer.partition(shorter)
    if found:
        return not before + after or _MARKUP.search(before + after) is not None
    if first[:_PREFIX] != second[:_PREFIX]:
        return False
    return any(map(_REDACTED.search, (first, second)))

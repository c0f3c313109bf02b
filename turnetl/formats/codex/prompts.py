"""The prompts of a rollout, each once, although Codex writes most of them in several rows.

A prompt is an event (`user_message`), a completed item (`UserMessage`) or a message of role user,
or two or three of these, in any order. The kind is decided for each row: one rollout may have all.
A message is held until the next row that tells what it is: the event or the item with its text, or
the agent's response to it. Codex itself writes messages of role user, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from turnetl.formats.base import RawTurn
from turnetl.formats.codex import authorship
from turnetl.formats.codex.rows import CodexEntry

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
        """Return whether a row repeats a prompt.

        Args:
            prompt: of the row.
            is_answered: whether the agent has done anything since the last prompt.
        """
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
        """Return what an event or an item tells about the messages before it.

        Returns:
            The held messages that are prompts of their own, those that are not, and whether one of
            them repeats the prompt. If one does, those before it are text that Codex inserted.
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

        Args:
            lacks_prompt: whether the agent responds, or was to respond, to one of them: then the
                last is a prompt in whatever tag it is, if none is one for certain.
        """
        held, self.held = self.held, []
        if not self._has_events:
            return held, []
        own, inserted = _without_inserted(held)
        if lacks_prompt and not own and held and _ENCLOSED.fullmatch(held[-1].text):
            own, inserted = held[-1:], held[:-1]
        return own, inserted

    def add_turn_id(self, turn_id: str | None) -> None:
        """Complete the ids of the held messages."""
        self.held = [one._replace(turn_id=one.turn_id or turn_id) for one in self.held]

    def remember(
        self, prompt: Prompt, turn: RawTurn, kinds: set[PromptKind], *, is_answered: bool
    ) -> None:
        """Remember a prompt that opened a turn.

        Args:
            prompt: the prompt.
            turn: the turn.
            kinds: of the rows that hold it so far.
            is_answered: whether the agent responded to the prompts before it.
        """
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
        """Return the position of the held message that holds a prompt, or None."""
        folded = prompt.folded
        equal = (place for place, one in enumerate(self.held) if one.folded == folded)
        if (match := next(equal, None)) is not None or not self.held:
            return match
        last = self.held[-1]
        is_before = prompt.entry.span.line - last.entry.span.line <= 1
        return (
            len(self.held) - 1
            if is_before and authorship.are_versions(last.text, prompt.text)
            else None
        )


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
    return is_next and authorship.are_versions(opened.prompt.text, prompt.text)

"""A turn as a person reads it: prompt, steps with their outcomes, answer, and how that ends."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from turnetl.base.edit_outline import without_outline
from turnetl.base.model import SubagentStep, Turn
from turnetl.base.results import described
from turnetl.episode_text.passages import split_messages

_ARROW = " -> "
_FAILED = "failed"


class TextSource(StrEnum):
    """Where the text of a turn comes from."""

    LAKE = "lake"
    GRAPH = "graph"
    """The episode text: without white space, with abbreviated steps."""


@dataclass(frozen=True, slots=True)
class ConversationStep:
    """A tool call with its outcome."""

    tool: Annotated[str, described("Name of the tool.")]
    input: Annotated[str, described("The call: the command, the path, or compact JSON.")]
    outcome: Annotated[str, described("Head and tail of the result.")]
    is_error: Annotated[bool, described("Whether the call failed.")]
    ended_at: Annotated[datetime | None, described("Time of the result; null if unknown.")]
    subagent: Annotated[
        SubagentStep | None,
        described("The subagent that made the call; null: the agent of the turn, or unknown."),
    ] = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said and done in a turn."""

    source: Annotated[
        TextSource,
        described("Where its text comes from: `lake`, or abbreviated from the `graph`."),
    ]
    prompt: Annotated[str, described("What the user wrote.")]
    steps: Annotated[tuple[ConversationStep, ...], described("The tool calls, in order.")]
    steering: Annotated[
        tuple[str, ...], described("What the user wrote while the agent worked, in order.")
    ]
    answer: Annotated[str, described("All texts of the agent, joined by blank lines.")]
    model: Annotated[str | None, described("The last model; null if unknown.")]


def from_turn(turn: Turn) -> Conversation:
    return Conversation(
        source=TextSource.LAKE,
        prompt=turn.user_text,
        steps=tuple(
            ConversationStep(
                call.name,
                without_outline(call.input),
                call.result,
                call.is_error,
                call.ended_at,
                one.step,
            )
            for one in turn.agent_calls
            for call in [one.call]
        ),
        steering=(*turn.steering, *turn.user_answers),
        answer=turn.assistant_text,
        model=turn.model,
    )


def from_episode_text(text: str) -> Conversation:
    messages = [(role, message.strip()) for role, message in split_messages(text)]
    user = [message for role, message in messages if role == "user"]
    return Conversation(
        source=TextSource.GRAPH,
        prompt=user[0] if user else "",
        steps=tuple(_step(message) for role, message in messages if role == "tools"),
        steering=tuple(user[1:]),
        answer="\n\n".join(
            message for role, message in messages if message and role in ("", "assistant")
        ),
        model=None,
    )


def _step(line: str) -> ConversationStep:
    call, _, outcome = line.partition(_ARROW)
    tool, _, arguments = call.partition(" ")
    return ConversationStep(tool, arguments, outcome, outcome.startswith(_FAILED), None)


_CODE = re.compile(
    r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)"
    r"|^[ \t]*\[[\w+#.-]{1,20}, \d{1,9} lines: [^\n]*\]$",
    re.MULTILINE | re.DOTALL,
)
_SIGNATURE = r"\W*Generated with \[[^\]\n]*\]\([^)\n]*\)(?:\s+Co-Authored-By: [^\n]*)?"
_PLACEHOLDER = re.compile(
    rf"\[[^\[\]]*\]|\[[\w+#.-]{{1,20}}, .*\]|[-*_=]{{3,}}|{_SIGNATURE}", re.DOTALL
)
"""A paragraph in place of a long block, between two parts, or below a text that an agent wrote for
others: it says nothing itself."""
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_RULE, _TABLE_LINES = re.compile(r":?-*:?"), 2
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
SENTENCE_END = re.compile("(?<=[.!?\u3002\uff01\uff1f])[\"')*_]*\\s+|(?<=[\u3002\uff01\uff1f])")
_QUESTION_MARKS = ("?", "\uff1f")
_ASKS = re.compile(
    r"(?:so |then |but |and )?(?:should|shall|may|can|could) (?:i|we)\b|(?:do|would) you\b"
    r"|want me\b|let me know\b|which (?:one|approach|option|of)\b|does (?:this|that) (?:make"
    r"|look)\b|what (?:do|would) you\b|how would you\b|is (?:this|that) (?:what|ok)\b",
    re.IGNORECASE,
)
_COLONS = (":", "\uff1a")
_MARKS = "*_ "


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of an answer, each part on one line."""

    outcome: str = ""
    """What it states last; empty if it states nothing."""
    question: str = ""
    """What it asks the user after that; empty if it asks nothing."""


def closing(answer: str) -> Closing:
    """Return how an answer ends.

    Code is left out, and so are placeholders of texts that were removed. A paragraph that ends with
    a colon is continued by the list that it announces.
    """
    parts = paragraphs(answer)
    if not parts:
        return Closing()
    outcome, question = _without_question(parts[-1])
    if not outcome and len(parts) > 1:
        # What stands before the question is what was done, unless that asks too.
        outcome, _ = _without_question(parts[-2])
    return Closing(outcome.rstrip(":"), question)


def paragraphs(answer: str) -> Sequence[str]:
    """Return the paragraphs that say something, each on one line, with what continues them."""
    found: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", _CODE.sub("\n\n", answer)):
        text = paragraph.strip()
        if not text or _PLACEHOLDER.fullmatch(text):
            continue
        table = _rows(text)
        line = table or _line(text)
        if found and found[-1].endswith(_COLONS) and (table or _ITEM.match(text)):
            found[-1] = f"{found[-1]} {line}"
        else:
            found.append(line)
    return found


def _rows(paragraph: str) -> str:
    """Return the rows of a table, separated by semicolons, without numbers; '' if it is none."""
    head, *rows = ([cell.strip() for cell in one.split("|")] for one in paragraph.splitlines())
    if head[0] or len(rows) < _TABLE_LINES or any(not _RULE.fullmatch(one) for one in rows[0]):
        return ""
    said = ((one for one in row if any(map(str.isalpha, one))) for row in rows[1:])
    return "; ".join(filter(None, map(", ".join, said)))


def _line(paragraph: str) -> str:
    """Return a paragraph on one line; items of a list are separated by semicolons."""
    parts = ""
    for line in paragraph.splitlines():
        item = _ITEM.match(line)
        text = _HEADING.sub("", line[item.end() :] if item else line).strip()
        is_next_item = item is not None and bool(parts) and not parts.endswith((*_COLONS, ";"))
        separator = "; " if is_next_item else " " if parts else ""
        parts += f"{separator}{text}" if text else ""
    return " ".join(parts.split())


def sentences(paragraph: str) -> list[str]:
    return [one for one in SENTENCE_END.split(paragraph) if one.strip()]


def _without_question(paragraph: str) -> tuple[str, str]:
    """Return what a paragraph states and what it asks after that."""
    parts = sentences(paragraph)
    asked = next((place for place, one in enumerate(parts) if _asks(one, parts[place + 1 :])), None)
    if asked is None:
        return paragraph, ""
    before = paragraph[: paragraph.find(parts[asked])]
    return before.strip(), paragraph[len(before) :].strip()


def _asks(sentence: str, later: Sequence[str]) -> bool:
    """Return whether a sentence asks the user: it ends the paragraph, or begins as an offer."""
    words = sentence.strip(_MARKS)
    is_question = words.endswith(_QUESTION_MARKS)
    follows_no_statement = all(one.strip(_MARKS).endswith(_QUESTION_MARKS) for one in later)
    return is_question and (follows_no_statement or bool(_ASKS.match(words)))

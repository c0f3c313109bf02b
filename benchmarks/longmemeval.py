"""Recall of the search on LongMemEval, a public set of questions about chats with an assistant.

    python -m benchmarks.longmemeval FOLDER [--questions N] [--misses KIND] [--embedder NAME]

Download `longmemeval_s.json`, or a file of the same form, into the folder yourself (Wu and others,
2025; the project's page names the place). Each question has a history of its own, of about 50
sessions, and is asked at its own date; so each gets a lake of its own, and 500 take hours:
`--questions` measures that many of them, evenly spaced. `benchmarks/conversations.py` defines the
measures. Questions without an answer in the history are left out: they have no evidence.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.conversations import (
    Conversation,
    ConversationQuestion,
    ConversationSession,
    MeasuredQuestions,
    Message,
    measure,
    print_misses,
    print_tables,
)
from turnetl.settings import Settings
from turnetl.settings.sections import EmbedderSettings

FILES = ("longmemeval_s.json", "longmemeval_s_cleaned.json")
KINDS = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "knowledge-update",
    "temporal-reasoning",
)
_ABSTENTION = "_abs"
"""The end of the id of a question about what never came up."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help=f"with {' or '.join(FILES)}")
    parser.add_argument("--questions", type=int, help="measure this many, evenly spaced")
    parser.add_argument("--misses", choices=KINDS, help="print those of a kind")
    parser.add_argument("--embedder", default="local", help="as `embedder.provider` names it")
    given = parser.parse_args()
    found = evenly_spaced(read_conversations(given.folder), given.questions)
    embedder = EmbedderSettings.model_validate({"provider": given.embedder})
    measured = asyncio.run(measure_each(found, embedder))
    print_tables(measured, KINDS)
    if given.misses:
        print_misses(measured, given.misses)


def read_conversations(folder: Path) -> list[Conversation]:
    """Return a conversation for each question with evidence, in their order."""
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        raise SystemExit(f"`{folder}` has no {' or '.join(FILES)}: download one into it")
    return [
        _conversation(number, one)
        for number, one in enumerate(json.loads(path.read_text(encoding="utf-8")))
        if one["answer_session_ids"] and not one["question_id"].endswith(_ABSTENTION)
    ]


def evenly_spaced(found: Sequence[Conversation], count: int | None) -> Sequence[Conversation]:
    if count is None or count >= len(found):
        return found
    return [found[place * len(found) // count] for place in range(count)]


async def measure_each(
    found: Sequence[Conversation], embedder: EmbedderSettings
) -> MeasuredQuestions:
    measured = MeasuredQuestions()
    for one in found:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(lake=Path(folder, "lake"), embedder=embedder)
            await measure(settings, Path(folder, "archives"), [one], measured)
    return measured


def _conversation(number: int, given: Mapping[str, Any]) -> Conversation:
    sessions, evidence, labelled = [], set(), set()
    rows = zip(
        given["haystack_session_ids"],
        given["haystack_dates"],
        given["haystack_sessions"],
        strict=True,
    )
    for place, (name, date, turns) in enumerate(rows):
        # The same session may occur twice in a history.
        session = f"s{place}"
        messages = [*_messages(session, turns)]
        if not messages:
            continue
        sessions.append(ConversationSession(session, _time(date), messages))
        if name in given["answer_session_ids"]:
            evidence.add(session)
        labelled |= {f"{session}:{at}" for at, turn in enumerate(turns) if turn.get("has_answer")}
    question = ConversationQuestion(
        given["question"],
        given["question_type"],
        frozenset(evidence),
        frozenset(labelled),
        _time(given["question_date"]),
    )
    return Conversation(f"q{number}", sessions, [question])


def _messages(session: str, turns: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    for place, turn in enumerate(turns):
        if turn["content"].strip():
            yield Message(f"{session}:{place}", turn["role"], turn["content"])


def _time(text: str) -> datetime:
    """Read a time such as `2023/05/20 (Sat) 02:21`."""
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


if __name__ == "__main__":
    main()

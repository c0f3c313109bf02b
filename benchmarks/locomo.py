"""Recall of the search on LoCoMo, a public set of long conversations with questions.

    python -m benchmarks.locomo FILE [--misses KIND] [--weights] [--embedder NAME]
    python -m benchmarks.locomo --fetch FILE

`--fetch` downloads the data (Maharana and others, 2024; CC BY-NC 4.0, not part of turnetl) at a
pinned commit. Who speaks first in a session is the user, and a turn is what the other one answers.
A question is asked at the time of the last message of its conversation. What is measured stands in
`benchmarks/conversations.py`. Questions without evidence are left out.
"""

import argparse
import asyncio
import json
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

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
from benchmarks.ranking_weights import print_cross_validated
from turnetl.settings import Settings
from turnetl.settings.sections import EmbedderSettings

COMMIT = "9d3814e576a0843e8a2faadbddcf4cf61420b620"
SOURCE = f"https://raw.githubusercontent.com/dial481/locomo/{COMMIT}/data/locomo10.json"
"""With the corrected answers."""
KINDS = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="locomo10.json, or a part of it")
    parser.add_argument("--fetch", action="store_true", help="download the file first")
    parser.add_argument("--misses", choices=KINDS.values(), help="print those of a kind")
    parser.add_argument("--weights", action="store_true", help="choose weights by cross-validation")
    parser.add_argument("--embedder", default="local", help="as `embedder.provider` names it")
    given = parser.parse_args()
    if given.fetch:
        urllib.request.urlretrieve(SOURCE, given.file)
    found = [read_conversation(one) for one in json.loads(given.file.read_text(encoding="utf-8"))]
    measured = MeasuredQuestions()
    with tempfile.TemporaryDirectory() as folder:
        embedder = EmbedderSettings.model_validate({"provider": given.embedder})
        settings = Settings(lake=Path(folder, "lake"), embedder=embedder)
        archives = Path(folder, "archives")
        asyncio.run(measure(settings, archives, found, measured, weights=given.weights))
    print_tables(measured, [*KINDS.values()])
    if given.misses:
        print_misses(measured, given.misses)
    if given.weights:
        print_cross_validated(measured.recorded, "conversations")


def read_conversation(given: Mapping[str, Any]) -> Conversation:
    found = Conversation(given["sample_id"], [*_sessions(given["conversation"])], ())
    return replace(found, questions=[*_questions(given, found.end())])


def _sessions(talk: Mapping[str, Any]) -> Iterator[ConversationSession]:
    for name, messages in talk.items():
        number = name.removeprefix("session_")
        if number.isdecimal() and messages:
            written = f"{talk[f'{name}_date_time']} +0000"
            start = datetime.strptime(written, "%I:%M %p on %d %B, %Y %z")
            first = messages[0]["speaker"]
            found = [_message(message, first) for message in messages]
            yield ConversationSession(f"D{number}", start, found)


def _message(given: Mapping[str, Any], first: str) -> Message:
    caption = given.get("blip_caption")
    shown = f" (shows a picture: {caption})" if caption else ""
    role: Literal["user", "assistant"] = "user" if given["speaker"] == first else "assistant"
    return Message(given["dia_id"], role, f"{given['speaker']}: {given['text']}{shown}")


def _questions(given: Mapping[str, Any], end: datetime) -> Iterator[ConversationQuestion]:
    for one in given["qa"]:
        if messages := frozenset(_message_ids(one.get("evidence", ()))):
            sessions = frozenset(message.partition(":")[0] for message in messages)
            kind = KINDS[one["category"]]
            yield ConversationQuestion(one["question"], kind, sessions, messages, end)


def _message_ids(evidence: Sequence[str]) -> Iterator[str]:
    """Yield ids such as `D8:6`; the data also have `D8:6; D9:17`, `D:11:26` and `D30:05`."""
    for text in evidence:
        for part in text.replace(";", " ").replace(",", " ").split():
            numbers = [number for number in part.strip("D()").split(":") if number.isdecimal()]
            if len(numbers) == 2:
                yield f"D{int(numbers[0])}:{int(numbers[1])}"


if __name__ == "__main__":
    main()

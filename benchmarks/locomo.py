"""Recall of the search on LoCoMo, a public set of long conversations with questions.

    python -m benchmarks.locomo FILE [--misses KIND] [--embedder NAME]
    python -m benchmarks.locomo --fetch FILE

`--fetch` downloads the data (Maharana and others, 2024; CC BY-NC 4.0, not part of turnetl) at a
pinned commit. Each session of a conversation becomes an archive; who speaks first is the user,
and a turn is what the other one answers. The structural extractor makes the graph; no model is
called. A question is asked of its own conversation, at the time of the last session.

Printed, by kind of question, for `turnetl search` and for plain BM25 over turns and over sessions:
the share of the questions for which a session with evidence is the first, or among the first 5 and
10, with the 95 % interval for the first; the mean reciprocal rank of that session; the share of the
turns with evidence among the first 10 turns. Questions without evidence are left out.
"""

import argparse
import asyncio
import json
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.graph_quality_matching import wilson
from benchmarks.plain_bm25 import PlainBm25
from benchmarks.retrieval import read_corpus
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.base.model import Episode, GroupId
from turnetl.index.conditions import Selection
from turnetl.lake import Lake
from turnetl.pipeline.index import OpenIndex, current_index
from turnetl.retrieval.search import search
from turnetl.settings import Settings
from turnetl.settings.sections import EmbedderSettings

COMMIT = "9d3814e576a0843e8a2faadbddcf4cf61420b620"
SOURCE = f"https://raw.githubusercontent.com/dial481/locomo/{COMMIT}/data/locomo10.json"
"""With the corrected answers."""
KINDS = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
DEPTHS = (1, 5, 10)
TURNS = 10
MAX_HITS = 200
"""Turns that are asked for, so that they are of ten sessions."""


@dataclass(frozen=True)
class LocomoQuestion:
    """A question, and the messages that answer it."""

    text: str
    kind: str
    conversation: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class LocomoTurn:
    """A kept turn with the messages that it holds."""

    episode: Episode
    session: str
    messages: frozenset[str]


@dataclass(frozen=True)
class LocomoResult:
    """What a way to search found for one question."""

    session_rank: int | None
    """From 1, of the first session with evidence."""
    evidence_share: float
    """Of the turns with evidence, those among the first ten."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="locomo10.json, or a part of it")
    parser.add_argument("--fetch", action="store_true", help="download the file first")
    parser.add_argument("--misses", choices=KINDS.values(), help="print those of a kind")
    parser.add_argument("--embedder", default="local", help="as `embedder.provider` names it")
    given = parser.parse_args()
    if given.fetch:
        urllib.request.urlretrieve(SOURCE, given.file)
    conversations = json.loads(given.file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        embedder = EmbedderSettings.model_validate({"provider": given.embedder})
        settings = Settings(lake=Path(folder, "lake"), embedder=embedder)
        archives = Path(folder, "archives")
        times = {one["sample_id"]: write_archives(one, archives) for one in conversations}
        asyncio.run(measure(settings, archives, conversations, times, given.misses))


def sessions(conversation: Mapping[str, Any]) -> Iterator[tuple[str, datetime, Sequence[Any]]]:
    """Yield the sessions with messages: number, start and messages."""
    talk = conversation["conversation"]
    for name, messages in talk.items():
        number = name.removeprefix("session_")
        if number.isdecimal() and messages:
            written = f"{talk[f'{name}_date_time']} +0000"
            time = datetime.strptime(written, "%I:%M %p on %d %B, %Y %z")
            yield f"D{number}", time, messages


def write_archives(conversation: Mapping[str, Any], folder: Path) -> datetime:
    """Write an archive of Claude Code's form for each session; return when the last one ended."""
    last = datetime.min.replace(tzinfo=UTC)
    for session, start, messages in sessions(conversation):
        rows, user = [], messages[0]["speaker"]
        for minute, message in enumerate(messages):
            role = "user" if message["speaker"] == user else "assistant"
            caption = message.get("blip_caption")
            shown = f" (shows a picture: {caption})" if caption else ""
            last = max(last, time := start + timedelta(minutes=minute))
            text = f"{message['speaker']}: {message['text']}{shown}"
            row = {
                "type": role,
                "sessionId": f"{conversation['sample_id']} {session}",
                "cwd": f"/home/dev/{conversation['sample_id']}",
                "uuid": f"{conversation['sample_id']} {message['dia_id']}",
                "timestamp": time.isoformat(),
                "message": {"role": role, "content": text},
            }
            rows.append(json.dumps(row))
        path = folder / conversation["sample_id"] / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return last


def questions(conversation: Mapping[str, Any]) -> list[LocomoQuestion]:
    return [
        LocomoQuestion(one["question"], KINDS[one["category"]], conversation["sample_id"], found)
        for one in conversation["qa"]
        if (found := frozenset(_message_ids(one.get("evidence", ()))))
    ]


def _message_ids(evidence: Sequence[str]) -> Iterator[str]:
    """Yield ids such as `D8:6`; the data also have `D8:6; D9:17`, `D:11:26` and `D30:05`."""
    for text in evidence:
        for part in text.replace(";", " ").replace(",", " ").split():
            numbers = [number for number in part.strip("D()").split(":") if number.isdecimal()]
            if len(numbers) == 2:
                yield f"D{int(numbers[0])}:{int(numbers[1])}"


def turns_of(
    conversation: Mapping[str, Any], episodes: Sequence[Episode]
) -> Mapping[str, LocomoTurn]:
    """Return the turns by id. A turn has the messages from its prompt to the next one."""
    found: dict[str, LocomoTurn] = {}
    name = conversation["sample_id"]
    by_prompt = {episode.turn.prompt_id: episode for episode in episodes}
    for session, _, messages in sessions(conversation):
        current: tuple[Episode, list[str]] | None = None
        for message in messages:
            episode = by_prompt.get(f"{name} {message['dia_id']}")
            if episode is not None:
                current = episode, []
            if current is not None:
                current[1].append(message["dia_id"])
                turn = LocomoTurn(current[0], session, frozenset(current[1]))
                found[current[0].turn_id] = turn
    return found


async def measure(
    settings: Settings,
    archives: Path,
    conversations: Sequence[Mapping[str, Any]],
    times: Mapping[str, datetime],
    misses: str | None,
) -> None:
    await pipeline.backfill([str(archives)], settings, pipeline.RunOptions(), now)
    corpus = read_corpus(Lake(settings.lake))
    asked: list[LocomoQuestion] = []
    results: dict[str, list[LocomoResult]] = {}
    count = 0
    async with current_index(settings, now) as opened:
        for conversation in conversations:
            name = conversation["sample_id"]
            prefix = f"{name} "
            episodes = [
                one for one in corpus.turns if (one.turn.prompt_id or "").startswith(prefix)
            ]
            turns = turns_of(conversation, episodes)
            count += len(turns)
            group = episodes[0].turn.group_id
            for question in questions(conversation):
                asked.append(question)
                found = await by_search(question, opened, group, times[name])
                add(results, "turnetl search", question, [turns[one] for one in found], turns)
            for way, rank in plain_ways(turns):
                for question in questions(conversation):
                    add(results, way, question, rank(question.text), turns)
    print(
        f"{len(conversations)} conversations, {count} turns, {len(asked)} questions with evidence"
    )
    for kind in ("all", *KINDS.values()):
        print_table(kind, asked, results)
    if misses:
        for question, one in zip(asked, results["turnetl search"], strict=True):
            if question.kind == misses and one.session_rank != 1:
                print(f"  {one.session_rank}  {question.conversation}  {question.text}")


async def by_search(
    question: LocomoQuestion, opened: OpenIndex, group: GroupId, time: datetime
) -> list[str]:
    found = await search(
        opened.index,
        question.text,
        opened.embedder,
        now=time,
        selection=Selection(groups=(group,)),
        limit=MAX_HITS,
        thesaurus=wiring.thesaurus(),
    )
    return [hit.turn_id for hit in found.hits]


Ranked = Callable[[str], Sequence[LocomoTurn]]


def plain_ways(turns: Mapping[str, LocomoTurn]) -> Iterator[tuple[str, Ranked]]:
    """Yield BM25 over the texts of turns, and over those of sessions."""
    ordered = list(turns.values())
    index = PlainBm25([one.episode.text for one in ordered])

    def by_turn(text: str) -> Sequence[LocomoTurn]:
        scores = index.scores(text)
        return [ordered[place] for place in _best(scores)]

    yield "BM25 over turns", by_turn
    sessions_: dict[str, list[LocomoTurn]] = {}
    for one in ordered:
        sessions_.setdefault(one.session, []).append(one)
    grouped = list(sessions_.values())
    whole = PlainBm25(["\n".join(one.episode.text for one in group) for group in grouped])

    def by_session(text: str) -> Sequence[LocomoTurn]:
        scores = whole.scores(text)
        return [one for place in _best(scores) for one in grouped[place]]

    yield "BM25 over sessions", by_session


def _best(scores: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return [place for place in order if scores[place] > 0]


def add(
    results: dict[str, list[LocomoResult]],
    way: str,
    question: LocomoQuestion,
    found: Sequence[LocomoTurn],
    turns: Mapping[str, LocomoTurn],
) -> None:
    right = [one for one in turns.values() if one.messages & question.evidence]
    ordered = list(dict.fromkeys(one.session for one in found))
    expected = {message.partition(":")[0] for message in question.evidence}
    rank = next((place for place, one in enumerate(ordered, 1) if one in expected), None)
    first = {one.episode.turn_id for one in found[:TURNS]}
    hits = sum(one.episode.turn_id in first for one in right)
    share = hits / len(right) if right else 0.0
    results.setdefault(way, []).append(LocomoResult(rank, share))


def print_table(
    kind: str, asked: Sequence[LocomoQuestion], results: Mapping[str, Sequence[LocomoResult]]
) -> None:
    places = [place for place, one in enumerate(asked) if kind in ("all", one.kind)]
    print(f"\n{kind}: {len(places)} questions")
    if not places:
        return
    for way, found in results.items():
        chosen = [found[place] for place in places]
        counts = [
            sum((one.session_rank or MAX_HITS) <= depth for one in chosen) for depth in DEPTHS
        ]
        low, high = wilson(counts[0], len(chosen))
        recalls = "  ".join(
            f"@{depth} {100 * count / len(chosen):.1f}"
            for depth, count in zip(DEPTHS, counts, strict=True)
        )
        mean = sum(1 / one.session_rank for one in chosen if one.session_rank) / len(chosen)
        evidence = 100 * sum(one.evidence_share for one in chosen) / len(chosen)
        print(
            f"  {way:20} session {recalls} [{100 * low:.1f} {100 * high:.1f}]  MRR {mean:.3f}"
            f"  evidence turns @{TURNS} {evidence:.1f}"
        )


if __name__ == "__main__":
    main()

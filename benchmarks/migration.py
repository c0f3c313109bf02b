"""How well a migration matches session-level data to archives, and what its stages cost.

    python -m benchmarks.migration [matching] [stages] [--sessions 1000] [--turns 10] [--graph URL]

`matching`: summaries of the sessions of real archives, in each style of writer, dated when the
session ended or by one later run. Each is classified twice: with all archives, and without that of
its session, when any match is wrong. `stages`: synthetic sessions with one summary each,
in an embedded graph or in the empty one at URL, with the structural extractor. Each stage is a
process of its own.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from benchmarks.cost import Cost, at_least, at_most, measure_cost
from tests import real_archives
from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from turnetl import pipeline
from turnetl.clock import now
from turnetl.graph.unrecorded import UnrecordedEpisode
from turnetl.lake import Lake
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass, EpisodeClassifier
from turnetl.migration.sessions import ArchivedSession, archived_sessions
from turnetl.model import GroupId
from turnetl.run_options import RunOptions
from turnetl.settings import Settings, load_settings

GROUP = "old-summaries"
RUN = datetime(2026, 9, 1, tzinfo=UTC)
MIN_RECALL = 0.8
"""Share of the summaries without an id that are matched."""
MAX_WRONG = 0
MAX_WRONG_OF_GONE = 1
"""Of the summaries whose archives are gone."""
MAX_PLAN_MILLISECONDS = 20
"""CPU per turn of the archives."""
MAX_PLAN_MB = 1_000


def matching(archives: Path) -> bool:
    """Print the confusion of each style of writer; return whether the limits are met."""
    sessions, summarised = _sessions(archives), legacy_sessions(archives)
    print(f"{len(summarised)} summaries of each style, {len(sessions)} sessions in the archives")
    print(f"{'id':12} {'dated':8} {'archive':8} right wrong ambiguous gone foreign", flush=True)
    passed = True
    for style in LegacyStyle:
        for dated, run_at in (("at end", None), ("by run", RUN)):
            kept = _confusion(style, dated, summarised, sessions, run_at, gone=False)
            gone = _confusion(style, dated, summarised, sessions, run_at, gone=True)
            right, wrong = kept["right"], kept["wrong"]
            recall = right / len(summarised)
            precision = right / max(right + wrong, 1)
            print(f"{'':12} precision {precision:.3f}, recall {recall:.3f}")
            passed &= wrong <= MAX_WRONG and gone["wrong"] <= MAX_WRONG_OF_GONE
            passed &= recall >= MIN_RECALL
    print("limits met" if passed else "limits MISSED")
    return passed


def _confusion(
    style: LegacyStyle,
    dated: str,
    summarised: Sequence[LegacySession],
    sessions: Sequence[ArchivedSession],
    run_at: datetime | None,
    *,
    gone: bool,
) -> Mapping[str, int]:
    """Classify the summaries, with or without the archive of each, and print the counts."""
    episodes = [_unrecorded(legacy_episode(one, style, run_at=run_at)) for one in summarised]
    counts = Counter[str]()
    of_all = [] if gone else EpisodeClassifier(sessions).classify(episodes)
    for place, one in enumerate(summarised):
        if gone:
            rest = [session for session in sessions if _key(session) != _key(one)]
            of_all = EpisodeClassifier(rest).classify(episodes)
        counts[_outcome(of_all[place], one)] += 1
    words = ("right", "wrong", "ambiguous", "archive_gone", "foreign")
    cells = " ".join(f"{counts[word]:5}" for word in words)
    print(f"{style:12} {dated:8} {'gone' if gone else 'there':8} {cells}", flush=True)
    return counts


def _outcome(found: ClassifiedEpisode, expected: LegacySession) -> str:
    if found.kind is not EpisodeClass.MATCHED or found.session is None:
        return found.kind.value
    return "right" if _key(found.session) == _key(expected) else "wrong"


def _key(session: LegacySession | ArchivedSession) -> tuple[str, str]:
    return session.format, session.session_id


def _sessions(archives: Path) -> list[ArchivedSession]:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(None, lake=Path(folder) / "lake", jobs=1)
        parsed = pipeline.parse_archives([str(archives)], settings)
        pipeline.filter_turns(settings, parsed.groups)
        return archived_sessions(Lake(settings.lake), parsed.groups)


def _unrecorded(episode: LegacyEpisode) -> UnrecordedEpisode:
    at = episode.reference_time
    return UnrecordedEpisode(
        episode.uuid,
        GroupId(GROUP),
        episode.name,
        episode.body,
        episode.source,
        episode.source_description,
        created_at=at,
        valid_at=at,
        entities=0,
        facts=0,
    )


def stages(sessions: int, turns: int, graph: str | None) -> bool:
    """Print time and memory of each stage; return whether the limits are met."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = graph or f"ladybug://{folder / 'graph.lbug'}"
        episodes = _write_archives(folder / "archives", sessions, turns)
        asyncio.run(_fill(url, episodes))
        print(f"{sessions:,} summaries, {sessions * turns:,} turns, {url.partition(':')[0]}")
        print(f"{'stage':10} {'CPU s':>8} {'wall s':>8} {'peak MB':>8}", flush=True)
        costs = {
            stage: _measured(stage, function, folder, url) for stage, function in STAGES.items()
        }
        milliseconds = 1_000 * costs["plan"].cpu / (sessions * turns)
        passed = at_most("ms CPU of plan per turn", milliseconds, MAX_PLAN_MILLISECONDS)
        passed &= at_most("MB of plan", costs["plan"].peak, MAX_PLAN_MB)
        matched = int(costs["plan"].result.split()[0])
        return passed & at_least("matched summaries in percent", 100 * matched / sessions, 99)


def plan(folder: Path, url: str) -> str:
    """Classify the summaries by their texts, and estimate the run."""
    archives = [str(folder / "archives")]
    options = pipeline.MigrationOptions(groups=(GROUP,))
    settings = _settings(folder, url)
    report = asyncio.run(
        pipeline.plan_estimated_migration(archives, settings, options, RunOptions(), now)
    )
    turns = 0 if report.estimate is None else report.estimate.turns
    return f"{len(report.plan.of_kind(EpisodeClass.MATCHED))} matched, {turns} turns estimated"


def run(folder: Path, url: str) -> str:
    """Ingest the turns into the shadow group."""
    archives = [str(folder / "archives")]
    migration = pipeline.MigrationOptions(groups=(GROUP,))
    settings = _settings(folder, url)
    report = asyncio.run(pipeline.run_migration(archives, settings, migration, RunOptions(), now))
    return f"{sum(group.committed for group in report.ingested.groups)} turns committed"


def compare(folder: Path, url: str) -> str:
    """Compare the old data with the turns."""
    report = asyncio.run(pipeline.compare_migration(_settings(folder, url), now))
    return f"{len(report.groups)} group compared"


STAGES: Mapping[str, Callable[[Path, str], str]] = {"plan": plan, "run": run, "compare": compare}
"""Each depends on those before it."""


def _measured(stage: str, function: Callable[[Path, str], str], folder: Path, url: str) -> Cost:
    cost = measure_cost(function, folder, url)
    print(
        f"{stage:10} {cost.cpu:8.1f} {cost.wall:8.1f} {cost.peak:8.0f}  {cost.result}", flush=True
    )
    return cost


def _settings(folder: Path, url: str) -> Settings:
    return load_settings(None, lake=folder / "lake", graph=url, extractor="structural")


async def _fill(url: str, episodes: Sequence[LegacyEpisode]) -> None:
    await write_legacy_graph(url, episodes, GROUP)
    await write_foreign_data(url, GROUP)


_WORDS = [
    f"{one}{other}"
    for one in ("re", "un", "pre", "sub", "over")
    for other in (
        "cart",
        "tax",
        "parser",
        "queue",
        "cache",
        "token",
        "render",
        "index",
        "mail",
        "route",
        "login",
        "price",
        "stock",
        "report",
        "export",
        "batch",
        "lock",
        "retry",
        "schema",
        "view",
    )
]


def _write_archives(folder: Path, sessions: int, turns: int) -> list[LegacyEpisode]:
    """Write an archive per session; return a summary of each, without an id."""
    generator = random.Random(0)  # noqa: S311 - not for secrets
    return [_write_session(folder, number, turns, generator) for number in range(sessions)]


def _write_session(
    folder: Path, number: int, turns: int, generator: random.Random
) -> LegacyEpisode:
    session, start = f"session{number}", RUN - timedelta(days=400) + timedelta(hours=number)
    files = [f"src/{generator.choice(_WORDS)}_{generator.randrange(400)}.py" for _ in range(4)]
    rows, prompts = list[str](), list[str]()
    for turn in range(turns):
        at, native = start + timedelta(minutes=turn), f"{session}-{turn}"
        prompt = (
            f"Change the {' and the '.join(generator.choices(_WORDS, k=6))} in {files[turn % 4]}"
        )
        prompts.append(prompt)
        rows += [
            row("user", prompt, f"{native}-u", at),
            tool_call(f"{native}-c", "Edit", at, file_path=f"/home/dev/shop/{files[turn % 4]}"),
            tool_result(f"{native}-r", f"{native}-c", "The file has been updated.", at),
            row("assistant", f"Done: the {generator.choice(_WORDS)} is tested", f"{native}-a", at),
        ]
    rows = [text.replace('"s1"', f'"{session}"') for text in rows]
    write_archive(folder / f"{session}.jsonl", rows)
    facts = " ".join(f"`{one}` was changed with `{other}`." for one, other in pairwise(files))
    summary = f"The user asked to {prompts[0].lower()}, then to {prompts[-1].lower()}. {facts}"
    ended = start + timedelta(minutes=turns)
    of_session = LegacySession("claude_code", session, start, ended, summary, tuple(files))
    return replace(legacy_episode(of_session, LegacyStyle.NOWHERE), reference_time=RUN)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[], choices=["matching", "stages", []])
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--graph", help="an empty graph; by default an embedded one")
    given = parser.parse_args()
    parts = given.parts or ["matching", "stages"]
    results = []
    if "matching" in parts:
        results.append(matching(given.archives))
    if "stages" in parts:
        results.append(stages(given.sessions, given.turns, given.graph))
    sys.exit(not all(results))

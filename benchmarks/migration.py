"""How well a migration matches session-level data to archives.

    python -m benchmarks.migration [--archives FOLDER]

Summaries of the sessions of real archives, in each style of writer, dated when the session ended or
by one later run. Each is classified twice: with all archives, and without that of its session, when
any match is wrong.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests import real_archives
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from turnetl import pipeline
from turnetl.base.model import GroupId
from turnetl.graph.session_level import UnrecordedEpisode
from turnetl.lake import Lake
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass, EpisodeClassifier
from turnetl.migration.sessions import ArchivedSession, archived_sessions
from turnetl.settings import load_settings

GROUP = "old-summaries"
RUN = datetime(2026, 9, 1, tzinfo=UTC)
MIN_RECALL = 0.8
"""Share of the summaries without an id that are matched."""
MAX_WRONG = 0
MAX_WRONG_OF_GONE = 1
"""Of the summaries whose archives are gone."""


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    sys.exit(not matching(parser.parse_args().archives))

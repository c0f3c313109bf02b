"""Real projects' archives: the things found in them are things their authors would name."""

import re
from collections import Counter

import pytest

from tests import real
from turnetl import pipeline
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import TurnFindings
from turnetl.lake import Lake
from turnetl.settings import Settings

JUNK = re.compile(
    r"/Users/|/home/|/tmp/|/var/folders|node_modules|\n|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}"
)

pytestmark = [pytest.mark.archives, real.NEEDED]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[TurnFindings]]:
    """What each kept turn says, by group."""
    settings = Settings(lake=tmp_path_factory.mktemp("lake"))
    folders = ["entireio__cli", "randlee__claude-history", "uzaxirr__raze"]
    pipeline.parse_archives([str(real.ARCHIVES / folder) for folder in folders], settings)
    pipeline.filter_turns(settings)
    lake = Lake(settings.lake)
    return {
        group: [
            extract_findings(episode, ())
            for episode in lake.episodes(group)
            if episode.noise is None
        ]
        for group in lake.groups()
    }


def test_nothing_has_a_name_that_no_author_would_give(found: dict[str, list[TurnFindings]]) -> None:
    names = {thing.name for turns in found.values() for turn in turns for thing in turn.entities}
    assert len(names) > 100
    assert [name for name in sorted(names) if JUNK.search(name)] == []


def test_the_files_most_turns_speak_of_are_the_projects_own(
    found: dict[str, list[TurnFindings]],
) -> None:
    files = Counter(
        thing.name for turn in found["cli"] for thing in turn.entities if thing.label == "File"
    )
    top = [name for name, _ in files.most_common(10)]
    assert top[0] == "cmd/entire/cli/hooks_claudecode_handlers.go"
    assert [name for name in top if not name.startswith(("cmd/entire/", "docs/"))] == []


def test_almost_every_turn_says_what_was_asked_and_what_came_of_it(
    found: dict[str, list[TurnFindings]],
) -> None:
    turns = [turn for turns in found.values() for turn in turns]
    asked = [turn for turn in turns if any(one.name == "ASKED" for one in turn.facts)]
    answered = [turn for turn in turns if any(one.name == "ANSWERED" for one in turn.facts)]
    assert len(asked) == len(turns)
    assert len(answered) > 0.9 * len(turns)

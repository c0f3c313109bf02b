"""Archives of real projects: the extracted names are specific to their projects."""

import re
from collections import Counter

import pytest

from tests import real_archives
from turnetl import pipeline
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import TurnFindings
from turnetl.lake import Lake
from turnetl.settings import Settings

GENERATED = re.compile(
    r"/Users/|/home/|/tmp/|/var/folders|node_modules|\n|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}"
)

pytestmark = [pytest.mark.archives, real_archives.needs_archives]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[TurnFindings]]:
    """The findings of each turn that is not noise, by group."""
    settings = Settings(lake=tmp_path_factory.mktemp("lake"))
    folders = ["entireio__cli", "randlee__claude-history", "uzaxirr__raze"]
    pipeline.parse_archives([str(real_archives.ARCHIVES / folder) for folder in folders], settings)
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


@pytest.mark.full
def test_no_entity_has_a_generated_name(findings: dict[str, list[TurnFindings]]) -> None:
    names = {
        entity.name for turns in findings.values() for turn in turns for entity in turn.entities
    }
    assert len(names) > 100
    assert [name for name in sorted(names) if GENERATED.search(name)] == []


def test_the_files_of_most_turns_belong_to_the_project(
    findings: dict[str, list[TurnFindings]],
) -> None:
    files = Counter(
        entity.name
        for turn in findings["cli"]
        for entity in turn.entities
        if entity.label == "File"
    )
    top = [name for name, _ in files.most_common(10)]
    assert top[0] == "cmd/entire/cli/hooks_claudecode_handlers.go"
    assert [name for name in top if not name.startswith(("cmd/entire/", "docs/"))] == []


def test_a_turn_has_few_facts_and_no_quote(findings: dict[str, list[TurnFindings]]) -> None:
    turns = [turn for turns in findings.values() for turn in turns]
    facts = [fact for turn in turns for fact in turn.facts]
    assert {"DECIDED", "REJECTED", "REPORTED", "PREFERS"} <= {fact.relation for fact in facts}
    assert not {"ASKED", "ANSWERED", "DESCRIBED"} & {fact.relation for fact in facts}

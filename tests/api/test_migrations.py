"""A migration is planned from Python as on the command line."""

import asyncio
from pathlib import Path

import pytest

import turnetl
from tests.cli.command import SAMPLES
from tests.legacy.graphs import write_legacy_graph
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode

GROUP = "old-summaries"


@pytest.fixture
def settings(tmp_path: Path) -> turnetl.Settings:
    """The settings of a graph with a summary of each sample session."""
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    episodes = [legacy_episode(one, LegacyStyle.NAME) for one in legacy_sessions(SAMPLES)]
    asyncio.run(write_legacy_graph(url, episodes, GROUP))
    return turnetl.load_settings(None, lake=tmp_path / "lake", graph=url)


@pytest.mark.full
def test_a_plan_has_sessions_and_an_estimate(settings: turnetl.Settings) -> None:
    report = asyncio.run(turnetl.plan_migration(SAMPLES, settings))
    [group] = report.plan.groups
    assert (group.group, len(group.sessions)) == (GROUP, len(legacy_sessions(SAMPLES)))
    assert report.estimate is not None
    assert report.estimate.turns == group.turns
    assert not settings.lake.exists()


@pytest.mark.full
def test_groups_and_decisions_are_arguments(settings: turnetl.Settings, tmp_path: Path) -> None:
    [first, *_] = asyncio.run(turnetl.plan_migration(SAMPLES, settings)).plan.groups[0].episodes
    decisions = tmp_path / "decisions.tsv"
    decisions.write_text(f"episode\tsession\n{first.episode.uuid}\tforeign\n")
    options = turnetl.RunOptions(groups=(GROUP,))
    settled = asyncio.run(turnetl.plan_migration(SAMPLES, settings, options, plan_file=decisions))
    assert settled.plan.groups[0].episodes[0].kind == "foreign"
    with pytest.raises(turnetl.BadUsage, match="elsewhere"):
        asyncio.run(
            turnetl.plan_migration(SAMPLES, settings, turnetl.RunOptions(groups=("elsewhere",)))
        )
    with pytest.raises(turnetl.BadUsage, match="at least 8"):
        asyncio.run(turnetl.plan_migration(SAMPLES, settings, pilot=3))

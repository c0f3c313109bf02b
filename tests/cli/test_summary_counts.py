"""The decisions about summaries, counted by reason: in a run, in `status` and in `runs show`."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.conftest import GRAPHS

NAMES = ("summary_refreshed", "summary_skipped")


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "ladybug":
        return f"ladybug://{tmp_path / 'graph.lbug'}"
    return str(request.getfixturevalue("neo4j_url"))


def run(*arguments: str | Path, graph: str, folder: Path) -> CommandResult:
    result = run_in_process(*arguments, "--graph", graph, folder=folder)
    assert result.exit_code == 0, result.stderr
    return result


def counts(groups: list[dict[str, Any]]) -> dict[str, dict[str, Counter[str]]]:
    """Return the counts of the groups that have any, without what the ends of runs wrote."""
    of_groups = {
        group["group"]: {
            name: Counter({k: n for k, n in group[name].items() if k != "flushed"})
            for name in NAMES
        }
        for group in groups
    }
    return {group: named for group, named in of_groups.items() if any(named.values())}


@pytest.mark.full
def test_status_counts_the_decisions_of_all_runs_and_an_undo_takes_those_of_its_run_back(
    graph: str, tmp_path: Path
) -> None:
    where: dict[str, Any] = {"graph": graph, "folder": tmp_path}
    first = run("backfill", SAMPLES, "--limit", "2", "--json", **where).json["groups"]
    second = run("backfill", SAMPLES, "--limit", "3", "--json", **where).json["groups"]
    after_first, of_second = counts(first), counts(second)
    both = {
        group: {name: named[name] + of_second.get(group, {}).get(name, Counter()) for name in NAMES}
        for group, named in after_first.items()
    }
    assert of_second
    assert counts(run("status", "--json", **where).json["groups"]) == both
    table = (
        "".join(run("status", "--verbose", **where).stdout.split())
        .replace("│", "")
        .replace("┃", "")
    )
    for named in both.values():
        written, kept = (sum(named[name].values()) for name in NAMES)
        assert f"(summaries:{written:,}written(" in table
        assert f"{kept:,}kept" in table
    latest = run("runs", "--json", **where).json["runs"][0]
    for name in NAMES:
        assert latest[name] == dict(sum((Counter(group[name]) for group in second), Counter()))
    shown = " ".join(run("runs", "show", latest["run_id"], **where).stdout.split())
    assert f"{sum(latest['summary_refreshed'].values())} written (" in shown
    run("undo", latest["run_id"], "--yes", **where)
    assert counts(run("status", "--json", **where).json["groups"]) == after_first

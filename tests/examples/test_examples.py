"""The scripts of examples/ do what their page says, on the archives of data/archives."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from examples import query_lake
from tests.cli.command import ROOT, SAMPLES, clean_environment, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.provider import FakeProvider

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the filled lake `lake`."""
    folder = tmp_path_factory.mktemp("examples")
    assert run_in_process("backfill", SAMPLES, "--lake", "lake", folder=folder).exit_code == 0
    return folder


def printed(script: str, *arguments: str | Path, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, *arguments],
        cwd=folder,
        env=clean_environment(folder) | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_a_row_for_each_example() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+\.py)\]\(\1\)", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.full
def test_the_python_api_fills_a_graph_and_answers(tmp_path: Path) -> None:
    output = printed("python_api.py", SAMPLES, "lake", folder=tmp_path)
    assert output.startswith("27 turns committed\n")
    assert "2026-03-03-checkout.jsonl:23" in output
    assert re.search(r"resolved 03 March 2026: .+ passed after `src/bookshop/cart.py` was ", output)
    assert "66185fa7 the checkout tests fail since" in output


@pytest.mark.full
def test_an_agent_finds_and_opens_a_turn(folder: Path) -> None:
    question = "why did the checkout tests fail"
    output = printed("ask_agent_history.py", "lake", question, folder=folder)
    assert "tools: " in output
    assert output.count("turn 66185fa7") >= 2


@pytest.mark.full
def test_two_templates_are_compared(folder: Path, provider: FakeProvider) -> None:
    model = model_environment(provider)
    output = printed("compare_templates.py", "lake", "bookshop", folder=folder, **model)
    assert "5 turns of bookshop, by " in output
    assert "\ndefault-session-turn.md\n" in output
    assert "\nnone\n" in output
    assert len(re.findall(r"[1-9]\d* entities, [1-9]\d* facts", output)) == 2


@pytest.mark.full
def test_polars_and_duckdb_give_the_same_table(folder: Path) -> None:
    tables = str(folder / "lake" / "episodes" / "*.parquet")
    by_polars = query_lake.failed_calls_by_polars(tables)
    assert set(by_polars["group_id"]) == {"bookshop", "shoebox"}
    assert by_polars["failed"].sum() > 0
    assert_frame_equal(by_polars, query_lake.failed_calls_by_duckdb(tables), check_dtypes=False)


@pytest.mark.full
def test_both_tables_are_printed(folder: Path) -> None:
    output = printed("query_lake.py", "lake", folder=folder)
    assert output.count("│ bookshop ┆ Bash ") == 2


@pytest.mark.full
def test_the_nightly_run_is_scheduled(tmp_path: Path) -> None:
    from prefect.client.schemas.schedules import CronSchedule  # noqa: PLC0415 - a second

    from examples.schedule_nightly import deployment  # noqa: PLC0415 - as above
    from flows.nightly import nightly  # noqa: PLC0415 - as above

    made = deployment(SAMPLES, tmp_path / "lake")
    [planned] = made.schedules or []
    assert isinstance(planned.schedule, CronSchedule)
    assert (planned.schedule.cron, planned.schedule.timezone) == ("0 3 * * *", "Europe/Berlin")
    assert made.entrypoint == "flows.nightly.nightly"
    assert nightly.validate_parameters(made.parameters)["archives"] == [str(SAMPLES)]

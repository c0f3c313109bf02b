"""`turnetl sql`: the views, each query of the documentation, and what a query must not do."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.cli.command import ROOT, run_in_process, turnetl_process
from tests.cli.hostile_text import FORBIDDEN, write_hostile_archives
from tests.cli.typed_terminal import answered

QUERIES = re.findall(
    "```sql\n(.*?)```", (ROOT / "docs" / "sql.md").read_text(encoding="utf-8"), re.DOTALL
)

VIEWS = ("turns", "steps", "tokens", "facts", "entities", "decisions", "errors")


@pytest.fixture(scope="module")
def home(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("home"), dirs_exist_ok=True)


def rows(home: Path, query: str) -> list[dict[str, object]]:
    result = run_in_process("sql", query, "--json", folder=home)
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, object]] = result.json["rows"]
    return found


def counts(home: Path) -> dict[str, object]:
    return {view: rows(home, f"FROM {view} SELECT count(*) AS n")[0]["n"] for view in VIEWS}


def test_each_of_ten_documented_queries_finds_rows(home: Path, subtests: pytest.Subtests) -> None:
    assert len(QUERIES) == 10
    for query in QUERIES:
        with subtests.test(query=query):
            assert rows(home, query)


def test_a_session_copied_to_another_group_counts_once(home: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(home, tmp_path / "home")
    decided = "SELECT archive FROM turns JOIN decisions USING (turn_id) LIMIT 1"
    [archive] = {row["archive"] for row in rows(home, decided)}
    copy = folder / "copies" / "copied.jsonl"
    copy.parent.mkdir()
    shutil.copyfile(str(archive), copy)
    before = counts(home)
    added = run_in_process("backfill", copy, "--group", "elsewhere", folder=folder)
    assert added.exit_code == 0, added.stderr
    assert counts(folder) == before
    copied = rows(folder, "SELECT count(*) AS n FROM episodes WHERE NOT is_first")
    assert copied != [{"n": 0}]
    for view in ("facts", "decisions", "errors"):
        assert rows(folder, f"FROM {view} ANTI JOIN turns USING (turn_id)") == []
    output = tmp_path / "compact"
    export = run_in_process(
        *("export", "--format", "parquet", "--compact", "--output", output), folder=folder
    )
    assert export.exit_code == 0, export.stderr
    exported = pl.read_parquet(output / "turns", hive_partitioning=True)
    facts = pl.read_parquet(output / "facts.parquet")
    assert set(facts["turns"].explode()) <= set(exported["turn_id"])
    entities = pl.read_parquet(output / "entities.parquet")
    written = {"turns": exported.height, "facts": facts.height, "entities": entities.height}
    assert written == {view: before[view] for view in written}
    sessions = exported["session_id"].n_unique()
    assert (
        f"{exported.height} turns, {sessions} sessions, {entities.height} entities, "
        f"{facts.height} facts exported as few large Parquet files"
    ) in export.stdout.replace(",0", "0")


def test_duckdb_and_polars_read_a_compact_export_as_one_table(home: Path, tmp_path: Path) -> None:
    output = tmp_path / "compact"
    result = run_in_process(
        *("export", "--format", "parquet", "--compact", "--output", output), folder=home
    )
    assert result.exit_code == 0, result.stderr
    by_year = "SELECT year, count(*) FROM read_parquet(?, hive_partitioning=true) GROUP BY year"
    with duckdb.connect() as connection:
        files = f"{output}/turns/*/*.parquet"
        counted = dict(connection.execute(by_year, [files]).fetchall())
    years = pl.read_parquet(output / "turns", hive_partitioning=True)["year"]
    assert counted == dict(years.value_counts().iter_rows())
    assert [path.name for path in (output / "turns").iterdir()] == [
        f"year={one}" for one in counted
    ]


def test_a_query_reaches_no_file_and_changes_nothing(
    home: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    target = tmp_path / "written.csv"
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    for query in (
        f"FROM read_csv('{secret}')",
        f"FROM '{secret}'",
        f"COPY turns TO '{target}'",
        f"EXPLAIN ANALYZE COPY turns TO '{target}'",
        f"ATTACH '{target}'",
        f"EXPORT DATABASE '{tmp_path}'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "FROM secret",
    ):
        with subtests.test(query=query):
            result = run_in_process("sql", query, folder=home)
            assert result.exit_code == 2
            assert "the query failed" in result.stderr
            assert not target.exists()


def test_every_value_of_a_row_is_json(home: Path) -> None:
    query = (
        "SELECT 1::HUGEINT AS whole, 1.5::DECIMAL(9, 2) AS part, DATE '2026-03-01' AS day, "
        "'ab'::BLOB AS bytes, [1, 2] AS list, {'a': NULL} AS struct, true AS flag"
    )
    [row] = rows(home, query)
    assert row == {
        "whole": 1,
        "part": 1.5,
        "day": "2026-03-01",
        "bytes": "6162",
        "list": [1, 2],
        "struct": {"a": None},
        "flag": True,
    }


def test_a_value_that_polars_cannot_hold_is_its_text(
    home: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    largest = 2**128 - 1
    for query, text in (
        ("SELECT TIMESTAMP '2026-03-02' - TIMESTAMP '2026-03-01' AS \"a \"\"b\"", "1 day"),
        ("SELECT list(INTERVAL 1 DAY) AS x", "[1 day]"),
        (f"SELECT {largest}::UHUGEINT AS x", str(largest)),
        ("SELECT '101'::BIT AS x", "101"),
        ("SELECT union_value(k := 1) AS x", "1"),
    ):
        with subtests.test(query=query):
            [row] = rows(home, query)
            assert list(row.values()) == [text]
    endless = ("sql", "SELECT 'infinity'::TIMESTAMP AS x")
    for arguments in (endless, (*endless, "--output", str(tmp_path / "x.csv"))):
        result = run_in_process(*arguments, folder=home)
        assert result.exit_code == 2, result.stderr
        assert "cannot" in result.messages[-1]


def test_what_memory_does_not_hold_goes_to_a_folder_that_is_deleted(
    home: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "it's temporary"
    temporary.mkdir()
    query = "SELECT current_setting('temp_directory') AS folder"
    result = turnetl_process("sql", query, "--json", folder=home, TMPDIR=str(temporary))
    assert result.exit_code == 0, result.stderr
    assert Path(result.json["rows"][0]["folder"]).parent == temporary
    assert list(temporary.iterdir()) == []


def test_an_error_that_is_typed_for_shows_no_control_character(tmp_path: Path) -> None:
    write_hostile_archives(tmp_path)
    added = run_in_process("backfill", tmp_path, folder=tmp_path)
    assert (tmp_path / ".turnetl" / "lake").is_dir(), added.stderr
    printed, code = answered("sql", folder=tmp_path, typed="SELECT prompt::INT FROM turns;\n\x04")
    assert code == 0
    assert "Could not convert string" in printed
    assert FORBIDDEN.findall(printed.replace("^D\x08\x08", "").replace("\r", "")) == []


def test_all_rows_go_to_a_file_of_the_named_format(home: Path, tmp_path: Path) -> None:
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": pl.read_csv,
        ".jsonl": pl.read_ndjson,
        ".parquet": pl.read_parquet,
    }
    query = "SELECT turn_id, step, tool FROM steps ORDER BY ALL"
    for suffix, read in readers.items():
        path = tmp_path / f"steps{suffix}"
        first = run_in_process("sql", query, "--output", path, folder=home)
        assert first.exit_code == 0, first.stderr
        assert read(path).to_dicts() == rows(home, query)
        again = run_in_process("sql", query, "--output", path, folder=home)
        assert again.exit_code == 2
        assert "exists" in again.stderr
    nested = run_in_process("sql", "SELECT [1] AS x", "-o", tmp_path / "x.csv", folder=home)
    assert nested.exit_code == 2
    missing = run_in_process("sql", query, "-o", tmp_path / "none" / "x.csv", folder=home)
    assert missing.exit_code == 2
    assert str(tmp_path / "none") in missing.stderr
    other = run_in_process("sql", query, "-o", tmp_path / "steps.xlsx", folder=home)
    assert ".csv, .jsonl, .parquet" in other.stderr


def test_a_table_shows_the_first_rows_and_counts_the_rest(home: Path) -> None:
    result = run_in_process("sql", "SELECT step FROM steps", "--limit", "2", folder=home)
    total = rows(home, "SELECT count(*) AS n FROM steps")[0]["n"]
    assert f"{total} rows, the first 2 shown" in result.stdout


def test_without_a_graph_the_lake_is_still_queried(home: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(home, tmp_path / "home")
    for path in (folder / ".turnetl" / "lake").glob("graph.lbug*"):
        path.unlink()
    result = run_in_process("sql", "SELECT count(*) AS n FROM turns", "--json", folder=folder)
    assert json.loads(result.stdout)["unread"] is not None
    assert json.loads(result.stdout)["rows"][0]["n"] > 0

"""A relative lake may have any name: no part of it is a pattern, or a URI of a database."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider


@pytest.mark.full
def test_a_relative_lake_with_any_name_is_filled_searched_checked_and_cleaned(
    provider: FakeProvider, tmp_path: Path
) -> None:
    name = "file:lk[1]?b#c%41"
    write_session(tmp_path / "archives" / "one.jsonl", turns=2)
    environment = model_environment(provider)

    def run(*arguments: str) -> dict[str, object]:
        named = (*arguments, "--lake", name, "--json")
        result = run_in_process(*named, folder=tmp_path, **environment)
        assert result.exit_code == 0, result.stderr
        assert "cannot" not in result.stderr
        return dict(result.json)

    run("backfill", "archives")
    assert (tmp_path / name / "journal.sqlite").stat().st_size
    assert run("search", "which file uses sqlite")["hits"]
    run("verify")
    run("forget", "--session", "s1-1", "--yes")
    assert {path.name for path in tmp_path.iterdir()} - {".cache"} == {"archives", name}

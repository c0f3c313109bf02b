"""A table that cannot be written: the message names what is in the way, and how to go on."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process


@pytest.mark.parametrize(
    "name", ["turns", "episodes", "turns/bookshop", "episodes/bookshop.parquet"]
)
def test_a_file_or_folder_in_the_way_of_a_table_is_no_lack_of_disk_space(
    tmp_path: Path, name: str
) -> None:
    place = tmp_path / "lake" / name
    place.parent.mkdir(parents=True)
    if place.suffix:
        (place / "planted").mkdir(parents=True)
    else:
        place.write_text("planted")
    commands = [("parse", SAMPLES), ("filter",)]
    results = [run_in_process(*one, "--lake", "lake", folder=tmp_path) for one in commands]
    messages = " ".join(result.stderr for result in results)
    assert any(result.exit_code for result in results)
    assert f"lake/{name}" in messages
    assert "disk space" not in messages

"""`turnetl formats`."""

from pathlib import Path

from tests.cli.command import run_in_process
from turnetl import formats


def test_every_format_is_listed_with_its_title(tmp_path: Path) -> None:
    listed = run_in_process("formats", "--json", folder=tmp_path).json["formats"]
    assert [(one["name"], one["title"]) for one in listed] == [
        (known.name, known.title) for known in formats.FORMATS
    ]
    result = run_in_process("formats", folder=tmp_path)
    assert result.exit_code == 0
    assert [known.name for known in formats.FORMATS if known.name not in result.stdout] == []

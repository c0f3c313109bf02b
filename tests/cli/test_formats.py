"""Which archives can be read, as the command says it."""

from pathlib import Path

from tests.cli.command import turnetl_process
from turnetl import formats


def test_every_format_is_listed_with_what_it_is(tmp_path: Path) -> None:
    listed = turnetl_process("formats", "--json", folder=tmp_path).json["formats"]
    assert listed == [{"name": one.name, "title": one.title} for one in formats.FORMATS]
    shown = turnetl_process("formats", folder=tmp_path)
    assert shown.exit_code == 0
    assert [one.name for one in formats.FORMATS if one.name not in shown.stdout] == []

"""Archives of real projects yield the counts that other tools made of them."""

import csv

import pytest

from tests import real_archives
from turnetl import formats

COUNTED = (
    "lines",
    "turns",
    "steering",
    "user_answers",
    "sidechain_rows",
    "tool_calls",
    "invalid_lines",
    "concatenated_lines",
    "blank_lines",
)
"""Fields of `ParseCounts`, and columns of expected.tsv."""
FIELDS = {
    "answers": "user_answers",
    "tool_uses": "tool_calls",
    "bad_lines": "invalid_lines",
    "glued_lines": "concatenated_lines",
}
"""Names that other tools give to these columns."""


def expected() -> list[dict[str, str]]:
    if not real_archives.AVAILABLE:
        return []
    with (real_archives.ARCHIVES / "expected.tsv").open(newline="") as file:
        names = {format_.name for format_ in formats.FORMATS}
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] in names]


@pytest.mark.archives
@pytest.mark.parametrize("row", expected(), ids=lambda row: row["path"])
def test_a_real_archive_yields_the_expected_counts(row: dict[str, str]) -> None:
    data = (real_archives.ARCHIVES / row["path"]).read_bytes()
    format_ = formats.sniff(data)
    assert format_ is not None
    assert format_.name == row["format"]
    counts = format_.read(data).counts
    named = {FIELDS.get(name, name): value for name, value in row.items()}
    found = {name: getattr(counts, name) for name in COUNTED}
    assert found == {name: int(named[name]) for name in COUNTED}
    assert counts.lines == counts.used + sum(counts.skipped.values())

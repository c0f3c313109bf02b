"""Archives of real projects yield the counts that other tools made of them."""

import csv

import pytest

from tests import real
from turnetl import formats

COUNTED = (
    "lines",
    "turns",
    "steering",
    "answers",
    "sidechain_rows",
    "tool_uses",
    "bad_lines",
    "glued_lines",
    "blank_lines",
)
FIELDS = {
    "answers": "user_answers",
    "tool_uses": "tool_calls",
    "bad_lines": "invalid_lines",
    "glued_lines": "concatenated_lines",
}
"""Columns of expected.tsv that have another name in `ParseCounts`."""


def expected() -> list[dict[str, str]]:
    if not real.AVAILABLE:
        return []
    with (real.ARCHIVES / "expected.tsv").open(newline="") as file:
        names = {format_.name for format_ in formats.FORMATS}
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] in names]


@pytest.mark.archives
@pytest.mark.parametrize("row", expected(), ids=lambda row: row["path"])
def test_a_real_archive_yields_the_expected_counts(row: dict[str, str]) -> None:
    data = (real.ARCHIVES / row["path"]).read_bytes()
    format_ = formats.sniff(data)
    assert format_ is not None
    assert format_.name == row["format"]
    counts = format_.read(data).counts
    found = {name: getattr(counts, FIELDS.get(name, name)) for name in COUNTED}
    assert found == {name: int(row[name]) for name in COUNTED}
    assert counts.lines == counts.used + sum(counts.skipped.values())

"""Archives of real projects yield what others counted in them."""

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
FIELDS = {"answers": "user_answers"}
"""Columns of expected.tsv that have another name in `Counts`."""


def expected() -> list[dict[str, str]]:
    if not real.HERE:
        return []
    with (real.ARCHIVES / "expected.tsv").open(newline="") as file:
        known = {known.name for known in formats.KNOWN}
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] in known]


@pytest.mark.archives
@pytest.mark.parametrize("row", expected(), ids=lambda row: row["path"])
def test_a_real_archive_yields_what_was_counted_by_others(row: dict[str, str]) -> None:
    data = (real.ARCHIVES / row["path"]).read_bytes()
    reader = formats.sniff(data)
    assert reader is not None
    assert reader.name == row["format"]
    counts = reader.read(data).counts
    found = {name: getattr(counts, FIELDS.get(name, name)) for name in COUNTED}
    assert found == {name: int(row[name]) for name in COUNTED}
    assert counts.lines == counts.used + sum(counts.skipped.values())

"""Tables of users: what is in a row, and which line is wrong."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.base.user_files import TsvRow, read_tsv

NEEDS = "a name and a value"


def read(path: Path, content: bytes) -> list[TsvRow]:
    path.write_bytes(content)
    return read_tsv(path, ("name", "value"), ("note",), row_needs=NEEDS)


def test_rows_have_their_line_and_all_columns(tmp_path: Path) -> None:
    rows = read(tmp_path / "t.tsv", '\ufeffvalue\tname\tother\r\n 1 \t"a"\tx\r\n2\tb\n'.encode())
    assert rows == [
        TsvRow(2, {"name": '"a"', "value": "1", "note": ""}),
        TsvRow(3, {"name": "b", "value": "2", "note": ""}),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no columns `name` and `value`"),
        (b"name\tvalues\n", "has no columns `name` and `value`"),
        (b"name\tvalue\n", "has no row below its first line"),
        (b"name\tvalue\na\tb\nc\n", "line 3: a row needs a name and a value"),
        (b"name\tvalue\n \t1\n", "line 2: a row needs a name and a value"),
        (b"name\tvalue\n\xff\t1\n", "is no table of UTF-8 text separated by tabs"),
    ],
)
def test_a_bad_table_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=message):
        read(tmp_path / "t.tsv", content)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.tsv", tmp_path):
        with pytest.raises(BadUsage, match="cannot be read"):
            read_tsv(path, ("name",), row_needs=NEEDS)


@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_table_or_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.tsv"
    for head in (b"", b"name\tvalue\n"):
        with suppress(BadUsage):
            rows = read(path, head + content)
            assert all(row.values["name"] and row.values["value"] for row in rows)

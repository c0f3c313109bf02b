"""What a person fills into the file of ambiguous episodes is what is read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.migration.plan_file import COLUMNS, Verdict, read_plan, write_plan

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NAME = TEXT.map(str.strip).filter(bool)


@given(st.dictionaries(NAME, st.tuples(NAME, TEXT), max_size=6))
def test_a_file_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("plan") / "decisions.tsv"
    write_plan(
        path,
        (
            dict.fromkeys(COLUMNS, "") | {"episode": uuid, "session": session, "name": name}
            for uuid, (session, name) in rows.items()
        ),
    )
    read = read_plan(path)
    assert {uuid: one.session_id for uuid, one in read.items()} == {
        uuid: session for uuid, (session, _) in rows.items()
    }


@pytest.mark.parametrize("text", ["=1+1", "+1", "-cmd", "@SUM(A1)", "'=1", "''", "'quoted'"])
def test_no_cell_is_a_formula_of_a_spreadsheet_and_each_is_read_as_it_was(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "decisions.tsv"
    cells = {"episode": text, "session": text, "name": text, "first": text, "reason": text}
    write_plan(path, [dict.fromkeys(COLUMNS, "") | cells])
    _, row = path.read_text(encoding="utf-8").splitlines()
    assert not [cell for cell in row.split("\t") if cell.startswith(("=", "+", "-", "@"))]
    assert {uuid: one.session_id for uuid, one in read_plan(path).items()} == {text: text}


def test_rows_without_a_session_are_not_settled(tmp_path: Path) -> None:
    path = tmp_path / "decisions.tsv"
    write_plan(path, [dict.fromkeys(COLUMNS, "") | {"episode": "e"}])
    assert read_plan(path) == {}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_that_a_spreadsheet_wrote_is_read(tmp_path: Path, line_end: str) -> None:
    path = tmp_path / "decisions.tsv"
    rows = ["session\tepisode\tmine", " foreign \te-1\tx", "s-1\te-2", "\t\t", ""]
    path.write_bytes(b"\xef\xbb\xbf" + line_end.join(rows).encode())
    read = read_plan(path)
    assert (read["e-1"].verdict, read["e-2"].session_id) == (Verdict.FOREIGN, "s-1")
    assert "line 3" in read["e-2"].place


@given(st.binary())
def test_any_bytes_are_decisions_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("plan") / "decisions.tsv"
    path.write_bytes(data)
    assert_read(path)


@given(st.lists(st.lists(TEXT, max_size=4), max_size=5))
def test_any_rows_below_the_header_are_decisions_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("plan") / "decisions.tsv"
    lines = ["episode\tsession\tformat", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert_read(path)


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "decisions.tsv"
    path.write_text("mine")
    with pytest.raises(BadUsage, match="it may hold decisions"):
        write_plan(path, [])
    assert path.read_text() == "mine"


def test_a_folder_is_neither_read_nor_written(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="cannot be read"):
        read_plan(tmp_path)
    with pytest.raises(BadUsage, match="cannot be written"):
        write_plan(tmp_path / "none" / "file.tsv", [])


def assert_read(path: Path) -> None:
    """Check that the file is read, or refused with a sentence that names it."""
    refusal = None
    try:
        read_plan(path)
    except BadUsage as error:
        refusal = str(error)
    assert refusal is None or str(path) in refusal

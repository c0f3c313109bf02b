"""The labelled facts of benchmarks/ are honest: what they name stands in the archives."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.labels import KINDS, LABELS, OTHER, Label, Text, labels
from tests import real
from turnetl import parse
from turnetl.lake import Lake

LISTS = [pytest.param(path, id=path.name) for path in (LABELS, OTHER)]
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class Nothing:
    """Cuts nothing."""

    version = "1"

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        return texts, [0] * len(texts)


@pytest.mark.parametrize("path", LISTS)
def test_a_label_is_short_and_of_a_known_kind_and_no_row_is_there_twice(path: Path) -> None:
    found = labels(path)
    assert len(set(found)) == len(found)
    assert {one.kind for one in found} == set(KINDS)
    assert [one for one in found if not 1 <= len(one.words) <= 10 or "" in one.words] == []


@pytest.mark.archives
@real.NEEDED
@pytest.mark.parametrize("path", LISTS)
def test_every_word_of_a_label_stands_in_its_turn_of_the_archive(
    path: Path, tmp_path: Path
) -> None:
    said = turns_of(path, tmp_path)
    lacking = [(one, lacks(one, said)) for one in labels(path)]
    assert [(one, words) for one, words in lacking if words] == []


def turns_of(path: Path, lake: Path) -> Mapping[tuple[str, int], Text]:
    """Return what each line's turn says, as the archive has it, by archive and line."""
    names = {one.archive for one in labels(path)}
    archives = [real.ARCHIVES / name for name in sorted(names)]
    parse.parse_archives(archives, Lake(lake), redactor=Nothing())
    columns = ("archive", "first_line", "last_line")
    found = {}
    for group in Lake(lake).groups():
        for archive, first, last in Lake(lake).scan_turns(group).select(columns).collect().rows():
            rows = Path(archive).read_bytes().split(b"\n")[first - 1 : last]
            name = Path(archive).relative_to(real.ARCHIVES.absolute()).as_posix()
            found.update(
                dict.fromkeys(((name, at) for at in range(first, last + 1)), said_in(rows))
            )
    return found


def said_in(rows: list[bytes]) -> Text:
    """Return the texts of the rows as a person reads them: JSON's strings, decoded."""
    return Text([json.loads(text, strict=False) for row in rows for text in STRING.findall(row)])


def lacks(label: Label, said: Mapping[tuple[str, int], Text]) -> tuple[str, ...]:
    turn = said.get((label.archive, label.line))
    return ("no such turn",) if turn is None else turn.lacks(label.words)


def test_a_word_is_found_in_any_case_but_not_inside_of_a_longer_one() -> None:
    text = Text(["Ran TestUpload: 1105 passed", "in cmd/tool/upload.go"])
    assert text.lacks(("testupload", "passed", "upload.go")) == ()
    assert text.lacks(("105", "pass", "Test", "load.go")) == ("105", "pass", "Test", "load.go")


def test_a_word_is_found_behind_a_longer_one_that_begins_like_it() -> None:
    assert Text(["passed_all, then passed"]).holds("passed")


def test_a_word_is_found_where_the_script_has_no_spaces() -> None:
    assert Text(["`npm run check`を削除した"]).holds("削除")


def test_a_path_is_found_by_its_name_with_the_last_folder_but_not_by_its_name_alone() -> None:
    assert Text(["read tool/upload.go"]).holds("cmd/tool/upload.go")
    assert not Text(["read upload.go"]).holds("cmd/tool/upload.go")
    assert not Text(["read other/upload.go"]).holds("cmd/tool/upload.go")


def test_a_path_that_names_no_file_is_found_as_it_stands_only() -> None:
    assert not Text(["fetched origin/main"]).holds("refs/remotes/origin/main")

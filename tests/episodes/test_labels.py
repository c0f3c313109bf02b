"""The labelled facts of benchmarks/ are correct: the archives contain their words."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.labels import KINDS, LABELS, OTHER, Label, Text, labels
from tests import real_archives
from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.lake import Lake

LISTS = [pytest.param(path, id=path.name) for path in (LABELS, OTHER)]
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


@pytest.mark.parametrize("path", LISTS)
def test_labels_are_short_of_a_known_kind_and_unique(path: Path) -> None:
    found = labels(path)
    assert len(set(found)) == len(found)
    assert {label.kind for label in found} == set(KINDS)
    assert [label for label in found if not 1 <= len(label.words) <= 10 or "" in label.words] == []


@pytest.mark.full
@pytest.mark.archives
@real_archives.needs_archives
@pytest.mark.parametrize("path", LISTS)
def test_every_word_of_a_label_occurs_in_its_turn_of_the_archive(
    path: Path, tmp_path: Path
) -> None:
    turns = turns_of(path, tmp_path)
    missing = [(label, missing_words(label, turns)) for label in labels(path)]
    assert [(label, words) for label, words in missing if words] == []


def turns_of(path: Path, lake: Path) -> Mapping[tuple[str, int], Text]:
    """Return the text of each line's turn, as the archive contains it, by archive and line."""
    names = {label.archive for label in labels(path)}
    archives = [real_archives.ARCHIVES / name for name in sorted(names)]
    parsing.parse_archives(archives, Lake(lake), redactor=NoRedactor())
    columns = ("archive", "first_line", "last_line")
    found = {}
    for group in Lake(lake).groups():
        for archive, first, last in Lake(lake).scan_turns(group).select(columns).collect().rows():
            rows = Path(archive).read_bytes().split(b"\n")[first - 1 : last]
            name = Path(archive).relative_to(real_archives.ARCHIVES.absolute()).as_posix()
            found.update(
                dict.fromkeys(((name, line) for line in range(first, last + 1)), text_of(rows))
            )
    return found


def text_of(rows: list[bytes]) -> Text:
    """Return the decoded JSON strings of the rows."""
    return Text([json.loads(text, strict=False) for row in rows for text in STRING.findall(row)])


def missing_words(label: Label, turns: Mapping[tuple[str, int], Text]) -> tuple[str, ...]:
    turn = turns.get((label.archive, label.line))
    return ("no such turn",) if turn is None else turn.missing(label.words)


def test_a_word_matches_in_any_case_but_not_within_a_longer_word() -> None:
    text = Text(["Ran TestUpload: 1105 passed", "in cmd/tool/upload.go"])
    assert text.missing(("testupload", "passed", "upload.go")) == ()
    assert text.missing(("105", "pass", "Test", "load.go")) == ("105", "pass", "Test", "load.go")


def test_a_word_matches_after_a_longer_word_with_the_same_beginning() -> None:
    assert Text(["passed_all, then passed"]).contains("passed")


def test_a_word_matches_in_a_script_without_spaces() -> None:
    assert Text(["`npm run check`を削除した"]).contains("削除")


def test_a_path_matches_as_its_name_with_the_last_folder_but_not_as_its_name_alone() -> None:
    assert Text(["read tool/upload.go"]).contains("cmd/tool/upload.go")
    assert not Text(["read upload.go"]).contains("cmd/tool/upload.go")
    assert not Text(["read other/upload.go"]).contains("cmd/tool/upload.go")


def test_a_path_without_a_file_name_matches_only_exactly() -> None:
    assert not Text(["fetched origin/main"]).contains("refs/remotes/origin/main")

"""Claude Code's history of prompts: an archive for each project."""

import gzip
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.redactors import NoRedactor
from turnetl import formats
from turnetl.base import ids
from turnetl.lake import Lake, archive_digest
from turnetl.parsing import expand, parse_archives
from turnetl.parsing.archive_files import ArchiveFile, LocalArchives
from turnetl.parsing.archive_lines import read_archive_lines
from turnetl.parsing.prompt_history import PromptHistories, PromptHistory, project_archives
from turnetl.parsing.sources import read_archive


def line(prompt: str, project: str) -> str:
    row = {"display": prompt, "pastedContents": {}, "timestamp": 1_772_442_000_000}
    return json.dumps(row | {"project": project}) + "\n"


LINES = [
    line("one", "/home/dev/shop"),
    line("two", "/home/dev/logo"),
    "not JSON\n",
    line("three", "/home/dev/shop"),
    line("four", "/home/dev/ümlaut"),
]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(LINES), encoding="utf-8")
    return path


def prompts(path: Path) -> list[str]:
    rows = read_archive(path).decode().split("\n")
    return [json.loads(row)["display"] for row in rows if row.startswith("{")]


def test_each_project_is_an_archive_with_its_prompts(history: Path) -> None:
    archives = expand([history]).archives
    assert sorted(prompts(path) for path in archives) == [["four"], ["one", "three"], ["two"]]
    assert expand([history.parent]).archives == archives
    assert expand(archives).archives == archives
    assert len({archive_digest(path) for path in archives}) == 3


@pytest.mark.parametrize("lines", [64, 20_000])
def test_a_project_whose_first_prompt_comes_late_is_recognised(lines: int, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    others = [line(f"prompt {number}", "/home/dev/shop") for number in range(lines)]
    path.write_text("".join([*others, line("late", "/home/dev/logo")]), encoding="utf-8")
    late = project_archives(path)[1]
    detected = formats.sniff(read_archive(late))
    assert detected is not None
    assert detected.name == formats.PROMPT_HISTORY
    assert len(detected.read(read_archive(late)).turns) == 1


def test_lines_and_bytes_are_those_of_the_file(history: Path) -> None:
    shop = project_archives(history)[0]
    assert read_archive_lines(shop, 4, 4) == [LINES[3].rstrip("\n")]
    data = history.read_bytes()
    assert read_archive(shop).find(b"three") == data.find(b"three")


def test_a_line_that_cannot_be_read_is_in_one_archive(history: Path) -> None:
    found = [path for path in project_archives(history) if b"not JSON" in read_archive(path)]
    assert len(found) == 1


def test_lines_before_the_first_project_are_in_its_archive_only(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    unnamed = json.dumps({"display": "zero", "timestamp": 1_772_442_000_000}) + "\n"
    path.write_text(unnamed + LINES[1] + LINES[0], encoding="utf-8")
    assert [prompts(one) for one in project_archives(path)] == [["zero", "two"], ["one"]]


def test_a_last_line_without_its_end_changes_no_other_archive(history: Path) -> None:
    shop = project_archives(history)[0]
    before = read_archive(shop)
    history.write_text("".join([*LINES, line("five", "/home/dev/logo")])[:-1], encoding="utf-8")
    assert read_archive(shop) == before


def test_a_prompt_of_another_project_leaves_the_content_as_it_is(history: Path) -> None:
    shop = project_archives(history)[0]
    before = read_archive(shop)
    history.write_text("".join([*LINES, line("five", "/home/dev/logo")]), encoding="utf-8")
    assert read_archive(shop) == before


def test_a_compressed_history_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl.gz"
    path.write_bytes(gzip.compress("".join(LINES).encode()))
    assert sorted(map(prompts, project_archives(path))) == [["four"], ["one", "three"], ["two"]]


def test_a_history_is_read_wherever_its_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl.history"
    path.write_text("".join(LINES), encoding="utf-8")
    archives = expand([path]).archives
    assert sorted(map(prompts, archives)) == [["four"], ["one", "three"], ["two"]]


@pytest.mark.parametrize("content", ["", "\n", '{"session_id": "x", "ts": 1, "text": "hi"}\n'])
def test_another_file_of_that_name_is_one_archive(content: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(content)
    assert expand([path]).archives == (path,)


def test_a_folder_with_that_name_is_searched(tmp_path: Path) -> None:
    inner = tmp_path / "history.jsonl" / "a.jsonl"
    inner.parent.mkdir()
    inner.write_text(line("one", "/home/dev/shop"))
    assert expand([tmp_path]).archives == (inner,)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_all_archives_together_hold_every_line_once(lines: list[bytes]) -> None:
    data = (
        b"".join([line("one", "/a").encode(), *(one.replace(b"\n", b"") + b"\n" for one in lines)])
        + line("two", "/b").encode()
    )
    names = [f"project-{ids.digest(project)[:8]}" for project in ("/a", "/b")]
    contents = [PromptHistory(data).content(name).split(b"\n") for name in names]
    for number, text in enumerate(data.split(b"\n")):
        holders = [
            content[number]
            for content in contents
            if number < len(content) and content[number].strip()
        ]
        assert len(holders) == bool(text.strip())


class RecordingFiles(LocalArchives):
    """Files of this machine that record which are read as a whole."""

    def __init__(self) -> None:
        self.read_paths: list[Path] = []

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        self.read_paths.append(file.path)
        return super().read(file)


@pytest.mark.full
def test_a_run_reads_and_decodes_a_history_once_for_all_of_its_projects(tmp_path: Path) -> None:
    path, other = tmp_path / "history.jsonl", tmp_path / "zzz.history.jsonl"
    # More than a batch of archives.
    rows = [line(f"{number:500}", f"/home/dev/p{number % 90}") for number in range(900)]
    path.write_text("".join(rows), encoding="utf-8")
    other.write_text("".join(LINES), encoding="utf-8")
    archives, files = expand([tmp_path]).archives, RecordingFiles()
    report = parse_archives(archives, Lake(tmp_path / "lake"), redactor=NoRedactor(), files=files)
    assert files.read_paths == [path, other]
    assert report.read.turns == 904


def test_a_history_that_changed_is_read_again(history: Path) -> None:
    shop, histories, files = project_archives(history)[0], PromptHistories(), RecordingFiles()
    first, _ = histories.read(shop, files.state(history), files)
    history.write_text("".join([*LINES, line("five", "/home/dev/shop")]), encoding="utf-8")
    changed = files.state(history)
    second, state = histories.read(shop, changed, files)
    assert state == changed
    assert first.count(b"display") + 1 == second.count(b"display")
    assert len(files.read_paths) == 2


def test_another_process_starts_without_the_history(history: Path) -> None:
    shop, histories, files = project_archives(history)[0], PromptHistories(), RecordingFiles()
    content = histories.read(shop, files.state(history), files)
    copy: PromptHistories = pickle.loads(pickle.dumps(histories))  # noqa: S301 - as multiprocessing
    assert copy.read(shop, files.state(history), files) == content
    assert len(files.read_paths) == 2


def test_another_archive_releases_the_history(history: Path, tmp_path: Path) -> None:
    other = tmp_path / "s1.jsonl"
    other.write_text("{}\n")
    shop, histories, files = project_archives(history)[0], PromptHistories(), RecordingFiles()
    for path in (shop, other, shop):
        read_archive(path, files, histories)
    assert files.read_paths == [history, other, history]

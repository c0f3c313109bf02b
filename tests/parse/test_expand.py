"""Files, folders and globs to archives: what is wrong with a path is said in one sentence."""

import os
from pathlib import Path

import pytest

from turnetl import parse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two archives, one of them deeper, and something that is none."""
    deep = tmp_path / "archives" / "shop"
    deep.mkdir(parents=True)
    (deep / "b.jsonl").write_text("{}\n")
    (deep.parent / "a.json").write_text("{}\n")
    (deep / "notes.md").write_text("none")
    return deep.parent


def names(found: parse.Expanded) -> list[str]:
    return [path.name for path in found.archives]


def only_message(found: parse.Expanded) -> str:
    (problem,) = found.problems
    return problem.message


def test_a_folder_is_searched_and_what_it_holds_comes_sorted(folder: Path) -> None:
    found = parse.expand([folder])
    assert names(found) == ["a.json", "b.jsonl"]
    assert found.problems == ()


def test_a_glob_means_the_archives_it_matches(folder: Path) -> None:
    assert names(parse.expand([f"{folder}/**/*"])) == ["a.json", "b.jsonl"]
    assert names(parse.expand([f"{folder}/*.json"])) == ["a.json"]


def test_a_file_that_is_named_is_taken_whatever_it_is_called(folder: Path) -> None:
    assert names(parse.expand([folder / "shop" / "notes.md"])) == ["notes.md"]


def test_an_archive_comes_once_however_often_it_is_named(folder: Path) -> None:
    again = folder / "shop" / ".." / "a.json"
    link = folder / "link.json"
    link.symlink_to(folder / "a.json")
    assert names(parse.expand([folder / "a.json", again, link, folder])) == ["a.json", "b.jsonl"]


def test_a_path_with_brackets_in_its_name_is_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "odd[1].jsonl"
    odd.write_text("{}")
    assert parse.expand([odd]).archives == (odd,)


def test_a_path_that_does_not_exist_is_said_and_the_others_are_found(folder: Path) -> None:
    found = parse.expand([folder / "gone.jsonl", folder / "a.json"])
    assert names(found) == ["a.json"]
    assert only_message(found) == f"`{folder / 'gone.jsonl'}` does not exist; check the path."


def test_a_glob_that_matches_nothing_is_said(folder: Path) -> None:
    assert "matches nothing" in only_message(parse.expand([f"{folder}/*.csv"]))


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    assert "holds no .jsonl or .json file" in only_message(parse.expand([tmp_path]))


def test_a_folder_called_like_an_archive_is_a_folder(tmp_path: Path) -> None:
    odd = tmp_path / "x.jsonl"
    odd.mkdir()
    assert "holds no .jsonl or .json file" in only_message(parse.expand([odd]))
    (odd / "in.jsonl").write_text("{}")
    assert names(parse.expand([tmp_path])) == ["in.jsonl"]


def test_a_link_to_nowhere_is_said(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "nowhere")
    found = parse.expand([tmp_path / "link.jsonl"])
    assert "neither a file nor a folder" in only_message(found)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_is_closed_to_us_is_said(folder: Path) -> None:
    (folder / "shop").chmod(0)
    found = parse.expand([folder])
    (folder / "shop").chmod(0o700)
    assert names(found) == ["a.json"]
    assert "cannot be read" in only_message(found)

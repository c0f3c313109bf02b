"""Files, folders and globs to archives: what is wrong with a path is said in one sentence."""

import os
import socket
import sys
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


def names(found: parse.ExpandedPaths) -> list[str]:
    return [path.name for path in found.archives]


def only_message(found: parse.ExpandedPaths) -> str:
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


def test_what_is_packed_is_found_as_well(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.json.zst", "C.JSONL", "d.gz", "e.jsonl.bz2", "f.zst"):
        (tmp_path / name).write_bytes(b"{}")
    assert names(parse.expand([tmp_path])) == ["C.JSONL", "a.jsonl.gz", "b.json.zst"]
    assert names(parse.expand([f"{tmp_path}/*"])) == ["C.JSONL", "a.jsonl.gz", "b.json.zst"]


def test_a_folder_that_a_link_leads_to_is_searched_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.jsonl").write_text("{}")
    (folder / "a link").symlink_to(tmp_path / "elsewhere")
    (folder / "another").symlink_to(tmp_path / "elsewhere")
    found = parse.expand([folder])
    assert names(found) == ["c.jsonl", "a.json", "b.jsonl"]
    assert found.archives[0] == folder / "a link" / "c.jsonl"


def test_folders_that_lead_to_each_other_come_to_an_end(folder: Path) -> None:
    for at in (folder, folder / "shop"):
        (at / "up").symlink_to(folder)
        (at / "again").symlink_to(at)
        (at / "self.jsonl").symlink_to(at / "self.jsonl")
    for given in (folder, f"{folder}/**", f"{folder}/**/*.json*"):
        assert names(parse.expand([given])) == ["a.json", "b.jsonl"]


def test_a_file_is_known_by_its_own_name_though_a_link_comes_first(folder: Path) -> None:
    (folder / "0.jsonl").symlink_to(folder / "shop" / "b.jsonl")
    (folder / "1").symlink_to(folder / "shop")
    assert parse.expand([folder]).archives == (folder / "a.json", folder / "shop" / "b.jsonl")


def test_what_is_no_file_is_not_waited_for_and_said(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.jsonl"))
        found = parse.expand([folder])
    assert names(found) == ["a.json", "b.jsonl"]
    assert [Path(problem.path).name for problem in found.problems] == ["pipe.jsonl", "s.jsonl"]
    assert "neither a file nor a folder" in only_message(parse.expand([folder / "pipe.jsonl"]))


def test_a_glob_of_any_depth_means_files_and_the_folders_it_matches(folder: Path) -> None:
    hidden = folder / ".old" / "shop"
    hidden.mkdir(parents=True)
    (hidden / "h.jsonl").write_text("{}")
    assert names(parse.expand([f"{folder}/**/b*"])) == ["b.jsonl"]
    assert names(parse.expand([f"{folder}/**/shop"])) == ["b.jsonl"]
    assert names(parse.expand([f"{folder}/**/.old"])) == ["h.jsonl"]
    assert names(parse.expand([f"{folder.parent}/*/**/shop/*"])) == ["b.jsonl"]
    assert "matches nothing" in only_message(parse.expand([f"{folder}/**/z*"]))


def test_a_glob_from_where_one_stands_needs_no_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert [str(path) for path in parse.expand(["**/*"]).archives] == ["a.json", "shop/b.jsonl"]


def test_messages_and_parts_of_a_store_belong_to_its_sessions(tmp_path: Path) -> None:
    for name in ("session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1"):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    assert names(parse.expand([tmp_path])) == ["ses_1.json"]


def test_ten_thousand_archives_in_one_folder_are_found(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"{number:05}.jsonl").touch()
    found = parse.expand([tmp_path, f"{tmp_path}/*.jsonl"])
    assert len(found.archives) == 10_000
    assert found.problems == ()


def test_folders_deeper_than_calls_can_be_are_searched(tmp_path: Path) -> None:
    deep = [tmp_path]
    for _ in range(sys.getrecursionlimit() + 50):
        deep.append(deep[-1] / "d")
        deep[-1].mkdir()
    (deep[-1] / "deep.jsonl").touch()
    assert names(parse.expand([tmp_path])) == ["deep.jsonl"]
    (deep[-1] / "deep.jsonl").unlink()
    # What cleans up after tests does not go so deep.
    for folder in reversed(deep[1:]):
        folder.rmdir()

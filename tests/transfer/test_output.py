"""Files of an export: complete, repeatable, and never in place of files of others."""

import json
from pathlib import Path

import pytest

from turnetl.base.errors import BadUsage, Fatal
from turnetl.transfer.output import MANIFEST, read_manifest, write_file, write_folder

FILES = {"index.md": b"index", "sessions/a.md": b"a", "sessions/b.md": b"b"}


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "export"
    first = write_folder(folder, "markdown", FILES)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    second = write_folder(folder, "markdown", FILES)
    assert (first.changed, second.changed, second.files, second.bytes) == (3, 0, 3, 7)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times
    assert content(folder) == FILES


def test_files_that_are_no_longer_exported_are_removed(tmp_path: Path) -> None:
    write_folder(tmp_path / "x", "markdown", FILES)
    smaller = {"index.md": b"other", "sessions/c.md": b"c"}
    written = write_folder(tmp_path / "x", "markdown", smaller)
    assert (written.changed, written.removed) == (2, 2)
    assert content(tmp_path / "x") == smaller


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(BadUsage, match="turnetl did not export"):
        write_folder(tmp_path, "markdown", FILES)
    assert content(tmp_path) == {"notes.md": b"mine"}


def test_files_that_somebody_adds_to_an_export_stay(tmp_path: Path) -> None:
    write_folder(tmp_path, "markdown", FILES)
    (tmp_path / "notes.md").write_text("mine")
    write_folder(tmp_path, "markdown", {"index.md": b"other"})
    assert content(tmp_path) == {"index.md": b"other", "notes.md": b"mine"}


@pytest.mark.parametrize("name", ["index.md", "sessions/a.md"])
def test_a_file_that_somebody_changed_is_not_overwritten(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, "markdown", FILES)
    (tmp_path / name).write_text("changed")
    with pytest.raises(BadUsage, match="was changed since"):
        write_folder(tmp_path, "markdown", {"index.md": b"other"})
    assert (tmp_path / name).read_text() == "changed"


def test_a_link_in_place_of_an_exported_file_is_not_followed(tmp_path: Path) -> None:
    folder, mine = tmp_path / "x", tmp_path / "mine"
    mine.write_bytes(b"index")
    write_folder(folder, "markdown", FILES)
    (folder / "index.md").unlink()
    (folder / "index.md").symlink_to(mine)
    with pytest.raises(BadUsage):
        write_folder(folder, "markdown", {"index.md": b"other"})
    assert mine.read_bytes() == b"index"


def test_a_run_that_was_killed_can_be_repeated(tmp_path: Path) -> None:
    write_folder(tmp_path, "markdown", FILES)
    changed = {name: data + b"2" for name, data in FILES.items()}

    class Killed(dict[str, bytes]):
        """Contents of which the second cannot be read: the process ends there."""

        reads = 0

        def __getitem__(self, name: str) -> bytes:
            self.reads += 1
            if self.reads == 2:
                raise KeyboardInterrupt
            return super().__getitem__(name)

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path, "markdown", Killed(changed))
    assert content(tmp_path) != FILES
    write_folder(tmp_path, "markdown", changed)
    assert content(tmp_path) == changed


def test_a_damaged_manifest_makes_the_folder_one_of_others(tmp_path: Path) -> None:
    write_folder(tmp_path, "markdown", FILES)
    (tmp_path / MANIFEST).write_text("{")
    assert read_manifest(tmp_path) is None
    with pytest.raises(BadUsage):
        write_folder(tmp_path, "markdown", FILES)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(BadUsage, match="is a file"):
        write_folder(tmp_path / "x", "markdown", FILES)


def test_an_export_of_one_file_is_replaced_and_other_files_are_not(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.jsonl"
    assert write_file(path, b"mark", b"mark 1").changed == 1
    assert write_file(path, b"mark", b"mark 1").changed == 0
    assert write_file(path, b"mark", b"mark 2").changed == 1
    assert path.read_bytes() == b"mark 2"
    path.write_bytes(b"mine")
    with pytest.raises(BadUsage, match="is no export"):
        write_file(path, b"mark", b"mark 3")
    assert path.read_bytes() == b"mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Fatal, match=r"cannot be written|is a file"):
        write_file(tmp_path / "file" / "x.jsonl", b"mark", b"mark")


@pytest.mark.parametrize(
    "name",
    [
        "../mine.md",
        "sessions/../../mine.md",
        "{folder}/mine.md",
        "..\\mine.md",
        "C:mine.md",
        "mine.md",
    ],
)
def test_a_manifest_that_names_a_file_of_others_is_refused_and_nothing_is_removed(
    name: str, tmp_path: Path
) -> None:
    folder, mine = tmp_path / "x", tmp_path / "mine.md"
    write_folder(folder, "markdown", FILES)
    for path in (mine, folder / "mine.md"):
        path.write_bytes(b"a")
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][name.format(folder=tmp_path)] = manifest["files"]["sessions/a.md"]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(BadUsage, match="which no export writes"):
        write_folder(folder, "markdown", {"index.md": b"other"})
    assert mine.read_bytes() == (folder / "mine.md").read_bytes() == b"a"
    assert (folder / "index.md").read_bytes() == b"index"


def test_a_link_in_place_of_a_folder_of_an_export_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    write_folder(folder, "markdown", FILES)
    moved = (folder / "sessions").rename(tmp_path / "mine")
    (folder / "sessions").symlink_to(moved)
    for files in ({"index.md": b"other"}, FILES | {"sessions/c.md": b"c"}):
        with pytest.raises(BadUsage, match="is a link"):
            write_folder(folder, "markdown", files)
    assert {path.name: path.read_bytes() for path in moved.iterdir()} == {
        "a.md": b"a",
        "b.md": b"b",
    }

"""New folders and files are private, whatever the umask; a group may be let in by the folder."""

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

from turnetl.base.private_files import (
    create_file,
    create_folder,
    ensure_file,
    open_or_create,
    write_whole,
)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set the umask of the process for a test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_new_folders_are_private_even_in_an_open_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    create_folder(tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)
    assert mode(tmp_path) == 0o775


@pytest.mark.usefixtures("umask")
def test_a_new_root_is_private_even_in_a_folder_of_a_group(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    root = tmp_path / "data" / "lake"
    create_folder(root / "turns", root)
    assert {mode(path) for path in tmp_path.rglob("*")} == {0o700}


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("root_mode", "folder_mode", "file_mode"),
    [
        (0o700, 0o700, 0o600),
        (0o750, 0o750, 0o640),
        (0o770, 0o770, 0o660),
        (0o2750, 0o750, 0o640),
        (0o755, 0o700, 0o600),
        (0o1777, 0o700, 0o600),
    ],
)
def test_below_a_root_its_group_has_the_rights_that_it_has_there(
    tmp_path: Path, root_mode: int, folder_mode: int, file_mode: int
) -> None:
    tmp_path.chmod(root_mode)
    create_folder(tmp_path / "a" / "b", tmp_path)
    create_file(tmp_path / "a" / "b" / "file").close()
    # Without the bit that makes the group inherit: not every system hands it down.
    assert mode(tmp_path / "a" / "b") & 0o777 == folder_mode
    assert mode(tmp_path / "a" / "b" / "file") == file_mode


def test_what_exists_keeps_its_mode_and_content(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    folder.chmod(0o755)
    file.write_text("content")
    file.chmod(0o644)
    create_folder(folder)
    ensure_file(file)
    assert (mode(folder), mode(file), file.read_text()) == (0o755, 0o644, "content")


def test_a_file_can_get_the_mode_of_another_but_for_the_rights_of_others(tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    graph.touch()
    graph.chmod(0o644)
    ensure_file(tmp_path / "graph.wal", like=graph)
    assert mode(tmp_path / "graph.wal") == 0o640


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        create_folder(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        create_folder(tmp_path / "file" / "below")


def test_a_file_is_replaced_as_a_whole_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path, target = tmp_path / "file", tmp_path / "target"
    target.write_text("of somebody else")
    path.symlink_to(target)
    tmp_path.chmod(0o750)
    write_whole(path, b"content")
    assert (path.read_text(), mode(path), path.is_symlink()) == ("content", 0o600, False)
    assert target.read_text() == "of somebody else"
    assert sorted(tmp_path.iterdir()) == [path, target]


def test_a_link_and_a_pipe_are_not_opened_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("dangling", "pipe", "link"):
        with pytest.raises(OSError, match=name):
            open_or_create(tmp_path / name)
    assert not (tmp_path / "target").exists()

"""What every implementation of `LakeFiles` does: a folder, and a bucket on a real S3 server."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.lake import object_lakes
from tests.servers.s3_server import S3Server
from turnetl.base.errors import LakeChanged
from turnetl.lake import LakeFiles, LocalFiles

OpenFiles = Callable[[str], LakeFiles]
"""Opens the files of the same lake as another process does, given the name of its machine."""


@pytest.fixture(params=["local", "s3"])
def open_files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenFiles:
    if request.param == "local":
        return lambda _: LocalFiles(tmp_path / "lake")
    s3: S3Server = request.getfixturevalue("s3")
    url = object_lakes.new_url(s3, monkeypatch)
    return lambda name: object_lakes.machine(url, tmp_path / name)


@pytest.fixture
def files(open_files: OpenFiles) -> LakeFiles:
    return open_files("a")


def content(text: str) -> Callable[[IO[bytes]], object]:
    return lambda file: file.write(text.encode())


def read(files: LakeFiles, name: str) -> str:
    path = files.root / name
    files.fetch([path])
    return path.read_text()


def test_what_is_written_is_read_by_another_process(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    here.replace(here.root / "turns" / "shop ü" / "x.parquet", content("one"))
    assert read(here, "turns/shop ü/x.parquet") == "one"
    assert read(there, "turns/shop ü/x.parquet") == "one"


def test_a_file_is_replaced(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    for text in ("one", "", "three" * 1000):
        here.replace(here.root / "x", content(text))
        assert read(there, "x") == text
        there = open_files("b")


def test_folders_are_listed_by_name(files: LakeFiles) -> None:
    for name in ("turns/b/2", "turns/b/1", "turns/a/deep/x", "turns/ab/y", "turnsish/z/1", "key"):
        files.replace(files.root / name, content(name))
    assert files.names(files.root) == ["key", "turns", "turnsish"]
    assert files.names(files.root / "turns") == ["a", "ab", "b"]
    assert files.names(files.root / "turns" / "b") == ["1", "2"]
    assert files.names(files.root / "turns" / "c") == []
    assert files.tree(files.root / "turns") == {"a": ["deep"], "ab": ["y"], "b": ["1", "2"]}
    assert files.tree(files.root / "nothing") == {}


def test_more_files_are_listed_than_one_answer_of_a_store_holds(files: LakeFiles) -> None:
    if not files.has_versions:
        pytest.skip("a folder is listed by one call")
    for number in range(1005):
        files.replace(files.root / "many" / f"{number:04}", content("x"))
    assert len(files.names(files.root / "many")) == 1005


def test_a_file_that_is_deleted_is_gone(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    path = here.root / "turns" / "x"
    here.replace(path, content("one"))
    assert read(there, "turns/x") == "one"
    here.delete(path)
    here.delete(path)
    for files in (here, open_files("b"), open_files("c")):
        files.fetch([files.root / "turns" / "x"])
        assert not (files.root / "turns" / "x").exists()
        assert files.names(files.root / "turns") == []
    here.replace(path, content("two"))
    assert read(open_files("b"), "turns/x") == "two"


def test_a_file_is_created_once(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    here.create(here.root / "key", b"one")
    for files in (here, there):
        with pytest.raises(FileExistsError):
            files.create(files.root / "key", b"two")
    assert read(here, "key") == read(there, "key") == "one"


def test_a_created_file_is_for_its_owner_only(files: LakeFiles) -> None:
    files.create(files.root / "key", b"one")
    assert (files.root / "key").stat().st_mode & 0o077 == 0


def test_a_file_gets_another_name(open_files: OpenFiles) -> None:
    here = open_files("a")
    here.replace(here.root / "x", content("one"))
    here.rename(here.root / "x", here.root / "y")
    for files in (here, open_files("b")):
        assert files.names(files.root) == ["y"]
        assert read(files, "y") == "one"


def test_a_failed_write_leaves_what_was_there(open_files: OpenFiles) -> None:
    here = open_files("a")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        here.replace(here.root / "x", fail)
    assert here.names(here.root) == []
    here.replace(here.root / "x", content("one"))
    with pytest.raises(OSError, match="No space left"):
        here.replace(here.root / "x", fail)
    assert read(here, "x") == read(open_files("b"), "x") == "one"
    assert not [path.name for path in here.root.iterdir() if path.suffix == ".tmp"]


def test_a_file_that_must_not_be_replaced_stays(files: LakeFiles) -> None:
    if files.has_versions:
        pytest.skip("an object store checks what was read")
    path, checked = files.root / "x", []

    def check() -> None:
        checked.append(path.read_text() if path.exists() else None)
        if len(checked) == 3:
            raise LakeChanged("another process wrote it")

    files.replace(path, content("one"), check)
    files.replace(path, content("two"), check)
    with pytest.raises(LakeChanged):
        files.replace(path, content("three"), check)
    assert checked == [None, "one", "two"]
    assert [file.name for file in files.root.iterdir()] == ["x"]


def test_an_object_that_a_listing_did_not_have_is_not_replaced(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    if not here.has_versions:
        pytest.skip("a folder is not compared with its listing")
    assert here.names(here.root / "turns") == []
    there.replace(there.root / "turns" / "shop" / "x", content("one"))
    with pytest.raises(LakeChanged):
        here.replace(here.root / "turns" / "shop" / "x", content("two"))
    here.replace(here.root / "turns" / "shop" / "x", content("three"))
    assert read(open_files("c"), "turns/shop/x") == "three"


def test_all_files_are_fetched_and_nothing_else_stays(open_files: OpenFiles) -> None:
    here, there = open_files("a"), open_files("b")
    for name in ("turns/shop/1", "turns/till/2", "key"):
        here.replace(here.root / name, content(name))
    there.fetch_all(there.root)
    assert (there.root / "turns/shop/1").read_text() == "turns/shop/1"
    here.delete(here.root / "turns/shop/1")
    again = open_files("b")
    again.fetch_all(again.root)
    assert {path.name for path in again.root.rglob("*") if path.is_file()} >= {"2", "key"}
    assert not (again.root / "turns/shop/1").exists()


def test_a_worker_process_gets_a_copy(files: LakeFiles) -> None:
    files.replace(files.root / "x", content("one"))
    copy: LakeFiles = pickle.loads(pickle.dumps(files))  # noqa: S301 - as multiprocessing does
    assert read(copy, "x") == "one"
    copy.replace(copy.root / "x", content("two"))
    assert read(copy, "x") == "two"


def test_a_version_changes_with_the_content(files: LakeFiles) -> None:
    path = files.root / "x"
    versions = []
    for text in ("one", "two"):
        files.replace(path, content(text))
        files.names(files.root)
        versions.append(files.version(path))
    assert (versions[0] != versions[1]) is files.has_versions
    assert (None in versions) is not files.has_versions


def test_files_are_named_for_messages(files: LakeFiles) -> None:
    name = files.name(files.root / "turns" / "x")
    assert name.endswith("/turns/x")
    assert name.startswith("s3://") or Path(name) == files.root / "turns" / "x"

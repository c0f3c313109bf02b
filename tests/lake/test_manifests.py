"""The manifest of a group, right in every state that it may be in."""

import os
import zlib
from pathlib import Path

import polars as pl
import pytest

from tests.lake import object_lakes
from tests.lake.object_lakes import lake_of, machine
from tests.servers.s3_server import S3Server
from turnetl.base import schema
from turnetl.base.errors import Fatal, TableUnusable
from turnetl.base.model import GroupId
from turnetl.base.object_url import ObjectUrl
from turnetl.lake import ArchiveMetadata, Lake

SHOP = GroupId("shop")
NO_ROWS = pl.DataFrame(schema=schema.TURNS.polars)


def metadata(archive: str, size: int = 1) -> ArchiveMetadata:
    return ArchiveMetadata(
        archive=archive,
        size=size,
        mtime_ns=1,
        sha256="0" * 64,
        format="claude_code",
        reader_version=1,
        redactor_version="1",
        group=SHOP,
        group_is_explicit=False,
        counts={"turns": 0},
    )


@pytest.fixture
def url(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> ObjectUrl:
    return object_lakes.new_url(s3, monkeypatch)


def open_lake(url: ObjectUrl, folder: Path) -> Lake:
    return lake_of(machine(url, folder))


def fill(lake: Lake, *archives: str, size: int = 1) -> None:
    for archive in archives:
        lake.write_turns(NO_ROWS, metadata(archive, size))


def archives(lake: Lake) -> dict[str, int]:
    """Return the size of each archive, by name, as the metadata of its turns file says."""
    return {file.metadata.archive: file.metadata.size for file in lake.turn_files(SHOP)}


def manifest(lake: Lake) -> Path:
    path = lake.root / "manifests" / SHOP
    lake.files.fetch([path])
    return path


def fetched(lake: Lake) -> list[str]:
    """Return the names of the turns files of which this machine has copies."""
    return sorted(path.name for path in (lake.root / "turns").rglob("*.parquet"))


def test_the_metadata_of_all_turns_files_is_read_from_one_file(
    url: ObjectUrl, tmp_path: Path
) -> None:
    here, there = open_lake(url, tmp_path / "a"), open_lake(url, tmp_path / "b")
    fill(here, "/x", "/y", "/z")
    here.sync_turns()
    assert archives(there) == {"/x": 1, "/y": 1, "/z": 1}
    assert fetched(there) == []


@pytest.mark.parametrize(
    "damage", [b"", b"no manifest", zlib.compress(b"[2,{}]"), zlib.compress(b'[1,{"x":["a"]}]')]
)
def test_a_damaged_manifest_is_written_again(damage: bytes, url: ObjectUrl, tmp_path: Path) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x", "/y")
    here.sync_turns()
    path = manifest(here)
    right = path.read_bytes()
    here.files.replace(path, lambda file: file.write(damage))
    assert archives(open_lake(url, tmp_path / "b")) == {"/x": 1, "/y": 1}
    assert manifest(open_lake(url, tmp_path / "c")).read_bytes() == right


def test_a_missing_manifest_is_written_again(url: ObjectUrl, tmp_path: Path) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x", "/y")
    assert not manifest(here).exists()
    assert archives(open_lake(url, tmp_path / "b")) == {"/x": 1, "/y": 1}
    there = open_lake(url, tmp_path / "c")
    assert archives(there) == {"/x": 1, "/y": 1}
    assert fetched(there) == []


def test_an_old_manifest_counts_only_for_files_that_are_as_they_were(
    url: ObjectUrl, tmp_path: Path
) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x", "/y", "/z")
    here.sync_turns()
    old = manifest(here).read_bytes()
    fill(here, "/y", size=2)
    fill(here, "/new")
    (deleted,) = [file.path for file in here.turn_files() if file.metadata.archive == "/z"]
    here.files.delete(deleted)
    here.files.replace(manifest(here), lambda file: file.write(old))
    there = open_lake(url, tmp_path / "b")
    assert archives(there) == {"/new": 1, "/x": 1, "/y": 2}
    assert len(fetched(there)) == 2
    assert archives(open_lake(url, tmp_path / "c")) == {"/new": 1, "/x": 1, "/y": 2}


def test_machines_that_write_a_manifest_at_the_same_time_leave_a_right_lake(
    url: ObjectUrl, tmp_path: Path
) -> None:
    here, there = open_lake(url, tmp_path / "a"), open_lake(url, tmp_path / "b")
    for lake in (here, there):
        assert archives(lake) == {}
        assert not manifest(lake).exists()
    fill(here, "/x")
    fill(there, "/y")
    here.sync_turns()
    there.sync_turns()
    for name in "abc":
        assert archives(open_lake(url, tmp_path / name)) == {"/x": 1, "/y": 1}


def test_a_bucket_that_cannot_be_written_is_read_without_a_manifest(
    s3: S3Server, url: ObjectUrl, tmp_path: Path
) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x")
    s3.allow_reads_only(url.bucket)
    assert archives(open_lake(url, tmp_path / "b")) == {"/x": 1}
    with pytest.raises(Fatal, match="refuses access"):
        fill(open_lake(url, tmp_path / "c"), "/y")


def test_a_turns_file_that_cannot_be_read_is_in_no_manifest(url: ObjectUrl, tmp_path: Path) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x", "/y")
    path = here.turn_paths()[0]
    here.files.replace(path, lambda file: file.write(b"torn"))
    here.sync_turns()
    assert len(archives(open_lake(url, tmp_path / "b"))) == 1
    fill(here, "/x", "/y")
    assert archives(open_lake(url, tmp_path / "c")) == {"/x": 1, "/y": 1}


def test_a_copy_that_is_damaged_unnoticed_is_read_again_the_next_time(
    url: ObjectUrl, tmp_path: Path
) -> None:
    here = open_lake(url, tmp_path / "a")
    fill(here, "/x")
    (path,) = here.turn_paths()
    status = path.stat()
    damaged = bytearray(path.read_bytes())
    damaged[20] ^= 1
    path.write_bytes(damaged)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(TableUnusable, match=r"`s3://.*\.parquet` is damaged"):
        here.read_turns_file(path)
    assert here.read_turns_file(path).is_empty()


def test_a_local_lake_has_no_manifest(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    fill(lake, "/x")
    lake.sync_turns()
    assert archives(lake) == {"/x": 1}
    assert [path.name for path in lake.root.iterdir()] == ["turns"]

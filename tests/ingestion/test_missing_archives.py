"""Archives that no longer exist are reported."""

from pathlib import Path

from turnetl.ingestion.missing_archives import missing_archives
from turnetl.lake import ArchiveMetadata, absolute_path_text
from turnetl.model import GroupId


def origin(archive: Path) -> ArchiveMetadata:
    return ArchiveMetadata(
        archive=absolute_path_text(archive),
        size=1,
        mtime_ns=1,
        sha256="0",
        format="claude_code",
        reader_version=1,
        redactor_version="1",
        group=GroupId("shop"),
        group_is_explicit=False,
        counts={},
    )


def test_a_deleted_archive_is_missing_and_an_existing_one_is_not(tmp_path: Path) -> None:
    existing, deleted = tmp_path / "existing.jsonl", tmp_path / "deleted.jsonl"
    existing.touch()
    assert missing_archives([origin(existing), origin(deleted)]) == (str(deleted),)


def test_an_archive_whose_folder_became_a_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    assert len(missing_archives([origin(tmp_path / "folder" / "one.jsonl")])) == 1


def test_an_archive_whose_name_is_not_utf8_is_found(tmp_path: Path) -> None:
    odd = Path(f"{tmp_path}/caf\udce9.jsonl")
    assert len(missing_archives([origin(odd)])) == 1
    odd.touch()
    assert missing_archives([origin(odd)]) == ()


def test_an_archive_that_may_not_be_examined_is_not_missing(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    assert missing_archives([origin(loop)]) == ()

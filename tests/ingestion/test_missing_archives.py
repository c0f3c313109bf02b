"""Archives that no longer exist are reported."""

from pathlib import Path

from turnetl.base.model import GroupId
from turnetl.lake import ArchiveMetadata, absolute_path_text
from turnetl.pipeline.group_status import missing_archives


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


def never(archive: str) -> bool:
    raise AssertionError(archive)


def test_an_archive_whose_path_is_redacted_is_looked_for(tmp_path: Path) -> None:
    redacted = origin(tmp_path / "[REDACTED:password:0123456789abcdef]" / "a.jsonl")
    assert missing_archives([redacted], lambda archive: archive == redacted.archive) == ()
    assert missing_archives([redacted], lambda _: False) == (redacted.archive,)


def test_a_deleted_archive_is_missing_and_an_existing_one_is_not(tmp_path: Path) -> None:
    existing, deleted = tmp_path / "existing.jsonl", tmp_path / "deleted.jsonl"
    existing.touch()
    assert missing_archives([origin(existing), origin(deleted)], never) == (str(deleted),)


def test_an_archive_whose_folder_became_a_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    assert len(missing_archives([origin(tmp_path / "folder" / "one.jsonl")], never)) == 1


def test_an_archive_whose_name_is_not_utf8_is_found(tmp_path: Path) -> None:
    odd = Path(f"{tmp_path}/caf\udce9.jsonl")
    assert len(missing_archives([origin(odd)], never)) == 1
    odd.touch()
    assert missing_archives([origin(odd)], never) == ()


def test_an_archive_that_may_not_be_examined_is_not_missing(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    assert missing_archives([origin(loop)], never) == ()

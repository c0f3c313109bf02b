from pathlib import Path

from turnetl.ingest.missing_archives import missing_archives
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


def test_an_archive_that_was_deleted_is_named_and_one_that_is_there_is_not(tmp_path: Path) -> None:
    there, deleted = tmp_path / "there.jsonl", tmp_path / "deleted.jsonl"
    there.touch()
    assert missing_archives([origin(there), origin(deleted)]) == (str(deleted),)


def test_an_archive_whose_folder_became_a_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    assert len(missing_archives([origin(tmp_path / "folder" / "one.jsonl")])) == 1


def test_a_name_that_is_no_utf8_is_found_again(tmp_path: Path) -> None:
    odd = Path(f"{tmp_path}/caf\udce9.jsonl")
    assert len(missing_archives([origin(odd)])) == 1
    odd.touch()
    assert missing_archives([origin(odd)]) == ()


def test_what_we_may_not_look_at_is_not_called_gone(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    assert missing_archives([origin(loop)]) == ()

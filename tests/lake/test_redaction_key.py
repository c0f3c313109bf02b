"""The key of a lake is created once, kept private, and never replaced silently."""

import os
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

import polars as pl
import pytest

from tests.parse.parse_runs import one_turn
from tests.redact.canaries import fresh
from turnetl import parsing
from turnetl.base.errors import BadUsage, Fatal
from turnetl.lake import Lake
from turnetl.lake.redaction_key import FILE, redaction_key
from turnetl.redact import SecretRedactor

TOKEN = "ghp_" + fresh(36)
_CREATE = """
import sys
from pathlib import Path
from turnetl.lake import Lake
from turnetl.lake.redaction_key import redaction_key
sys.stdin.readline()
print(redaction_key(Lake(Path(sys.argv[1])), create=True).hex())
"""


def key_of(root: Path) -> bytes:
    return redaction_key(Lake(root), create=True)


def test_a_lake_keeps_its_key_and_another_lake_has_another_one(tmp_path: Path) -> None:
    first = key_of(tmp_path / "a")
    assert key_of(tmp_path / "a") == redaction_key(Lake(tmp_path / "a"), create=False) == first
    assert key_of(tmp_path / "b") != first
    assert len(first) == 32


def test_a_moved_lake_keeps_its_key(tmp_path: Path) -> None:
    first = key_of(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    assert key_of(tmp_path / "b") == first


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
@pytest.mark.parametrize("folder_mode", [0o700, 0o770, 0o777], ids=oct)
def test_only_its_owner_may_read_the_key(tmp_path: Path, umask: int, folder_mode: int) -> None:
    tmp_path.chmod(folder_mode)
    before = os.umask(umask)
    try:
        key_of(tmp_path)
    finally:
        os.umask(before)
    assert S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.full
def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _CREATE, str(tmp_path / "lake")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    keys = {process.communicate()[0] for process in processes}
    assert keys == {key_of(tmp_path / "lake").hex() + "\n"}


def test_a_command_that_stores_nothing_creates_no_key(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    assert redaction_key(lake, create=False) != redaction_key(lake, create=False)
    assert not lake.root.exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_lost_key_is_never_replaced(tmp_path: Path, *, create: bool) -> None:
    lake = Lake(tmp_path / "lake")
    parse_into(lake)
    (lake.root / FILE).unlink()
    with pytest.raises(Fatal, match=r"no redaction key.*restore it from a copy"):
        redaction_key(lake, create=create)
    assert not (lake.root / FILE).exists()


@pytest.mark.parametrize("content", [b"", b"abc\n", b"00" * 31, b"00" * 33, b"zz" * 32])
def test_a_damaged_key_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(Fatal, match="is damaged: restore it"):
        key_of(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_key_that_the_user_created_is_used(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"AB" * 32 + b"\r\n")
    assert key_of(tmp_path) == b"\xab" * 32


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("ab" * 32)
    (tmp_path / FILE).symlink_to(tmp_path / "target")
    with pytest.raises(Fatal, match="symbolic link"):
        key_of(tmp_path)
    (tmp_path / "target").unlink()
    with pytest.raises(Fatal, match="symbolic link"):
        key_of(tmp_path)
    assert not (tmp_path / "target").exists()


def test_a_lake_that_is_a_file_has_no_key(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("")
    with pytest.raises(BadUsage, match="not a folder"):
        key_of(tmp_path / "lake")


def test_the_same_key_gives_the_same_tables_and_another_key_other_placeholders(
    tmp_path: Path,
) -> None:
    lakes = [Lake(tmp_path / name) for name in ("a", "b", "c")]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for lake in lakes[:2]:
        (lake.root / FILE).write_text("5e" * 32)
    first, same, other = map(parse_into, lakes)
    assert first == same
    assert first != other


def parse_into(lake: Lake) -> str:
    """Parse an archive with a token, and return the prompt of its turn."""
    archive = lake.root.parent / "archive.jsonl"
    archive.write_text(one_turn(f"use {TOKEN}"))
    redactor = SecretRedactor(redaction_key(lake, create=True))
    parsing.parse_archives([archive], lake, redactor=redactor)
    (path,) = lake.turn_paths()
    return str(pl.read_parquet(path)["user_text"][0])

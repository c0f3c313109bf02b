"""An archive's bytes: compressed or not, truncated, corrupt, growing, in many files."""

import gzip
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tests.parse.parse_runs import counts_every_line, one_turn, outcomes, run
from turnetl import parsing
from turnetl.base.errors import BadArchive
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.parsing import sources
from turnetl.parsing.compression import DecompressionStatus, decompress

SHOP = GroupId("shop")
Compress = Callable[[bytes], bytes]


def zstd(data: bytes) -> bytes:
    compressed: bytes = pa.compress(data, "zstd", asbytes=True)
    return compressed


both_codecs = pytest.mark.parametrize("compress", [gzip.compress, zstd], ids=["gzip", "zstd"])
LARGE = random.Random(4).randbytes(700_000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake) -> list[str]:
    return [turn.user_text for turn in lake.turns(SHOP)]


@both_codecs
def test_a_compressed_archive_is_read_with_any_suffix(
    compress: Compress, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(compress(one_turn().encode()))
    report = run(lake, path)
    assert (outcomes(report), report.problems, report.read.lines) == (["new"], (), 2)
    assert prompts(lake) == ["Mend the cart."]
    assert outcomes(run(lake, path)) == ["unchanged"]


@both_codecs
def test_consecutive_members_or_frames_are_one_text(compress: Compress) -> None:
    result = decompress(compress(LARGE) + compress(b"") + compress(b"end"), 1 << 30)
    assert result.status is DecompressionStatus.COMPLETE
    assert result.data == LARGE + b"end"


@both_codecs
def test_truncated_data_gives_what_precedes_the_end(compress: Compress) -> None:
    compressed = compress(LARGE) + compress(LARGE)
    for missing in (1, 9, len(compressed) // 3, len(compressed) // 2 + 3):
        result = decompress(compressed[:-missing], 1 << 30)
        assert result.status is DecompressionStatus.TRUNCATED
        assert (LARGE + LARGE).startswith(result.data)
        assert len(result.data) > len(LARGE + LARGE) - missing - (1 << 18)


def test_a_flushed_frame_is_read_to_its_last_byte() -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for line in (b"one\n", b"two\n", b"three\n"):
            stream.write(line)
            stream.flush()
    result = decompress(sink.getvalue().to_pybytes()[:-3], 1 << 30)
    assert (result.status, result.data) == (DecompressionStatus.TRUNCATED, b"one\ntwo\nthree\n")


@both_codecs
def test_corrupt_data_gives_what_precedes_the_damage(compress: Compress) -> None:
    for more in (b"no member", b"\xff" * 2000):
        result = decompress(compress(LARGE) + more, 1 << 30)
        assert (result.status, result.data == LARGE) == (DecompressionStatus.CORRUPT, True)


def test_zeros_after_the_last_member_are_padding() -> None:
    result = decompress(gzip.compress(b"one") + b"\0" * 512, 1 << 30)
    assert (result.status, result.data) == (DecompressionStatus.COMPLETE, b"one")


@both_codecs
def test_damage_is_reported_and_what_precedes_it_is_in_the_lake(
    compress: Compress, lake: Lake, tmp_path: Path
) -> None:
    paths = [tmp_path / "truncated.gz", tmp_path / "damaged.gz"]
    compressed = compress(one_turn().encode())
    paths[0].write_bytes(compressed + compress(LARGE)[:-90_000])
    paths[1].write_bytes(compressed + b"damage")
    report = run(lake, *paths)
    assert outcomes(report) == ["new", "new"]
    assert [problem.reason for problem in report.problems] == [
        SkipReason.TRUNCATED,
        SkipReason.CORRUPT,
    ]
    assert counts_every_line(report)
    assert set(prompts(lake)) == {"Mend the cart."}


@both_codecs
def test_a_compressed_archive_without_any_content_is_unreadable(
    compress: Compress, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.gz"
    path.write_bytes(compress(one_turn().encode())[:12])
    report = run(lake, path)
    assert outcomes(report) == ["unreadable"]
    assert report.problems[0].reason is SkipReason.TRUNCATED


@both_codecs
def test_a_decompression_bomb_is_skipped_at_the_limit(
    compress: Compress, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(compress(one_turn().encode() * 3 + b"\0" * (8 << 20)))
    report = run(lake, path, limits=parsing.ParseLimits(decompressed_bytes=1 << 20))
    assert outcomes(report) == ["unreadable"]
    (problem,) = report.problems
    assert problem.reason is SkipReason.TOO_LARGE
    assert "decompresses to more than 1 MiB" in problem.message
    assert len(decompress(path.read_bytes(), 1 << 20).data) < 2 << 20


def test_a_large_file_of_an_unknown_format_is_recognized_by_its_head(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "unknown.jsonl"
    path.write_bytes(b'{"event":"boot"}\n' * (sources.HEAD_BYTES // 17 + 2))
    archive = sources.stat_archive(path)
    assert len(sources.read_head(archive)) == sources.HEAD_BYTES < archive.size
    path.write_bytes(path.read_bytes() + one_turn().encode())
    assert outcomes(run(lake, path)) == ["unknown"]


def test_a_large_archive_of_few_long_lines_is_read(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(one_turn("x" * (sources.HEAD_BYTES + 9)))
    assert outcomes(run(lake, path)) == ["new"]
    assert [len(prompt) for prompt in prompts(lake)] == [sources.HEAD_BYTES + 9]


def test_a_read_does_not_go_beyond_the_size_at_the_stat(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text("one\n")
    archive = sources.stat_archive(path)
    with path.open("a") as file:
        file.write("two\n")
    assert sources.read_stored(archive)[0] == b"one\n"
    path.write_text("")
    assert sources.read_stored(archive)[0] == b""


def test_an_incomplete_last_line_is_reported_and_read_once_it_is_complete(
    lake: Lake, tmp_path: Path
) -> None:
    path, more = tmp_path / "s1.jsonl", one_turn("Push it.", "p1")
    path.write_text(one_turn() + more[:70])
    report = run(lake, path)
    assert [problem.reason for problem in report.problems] == [SkipReason.TRUNCATED]
    assert prompts(lake) == ["Mend the cart."]
    with path.open("a") as file:
        file.write(more[70:])
    assert outcomes(run(lake, path)) == ["changed"]
    assert prompts(lake) == ["Mend the cart.", "Push it."]


def test_a_pipe_does_not_block(lake: Lake, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    path = tmp_path / "s1.jsonl"
    os.mkfifo(pipe)
    path.write_text(one_turn())
    archive = sources.stat_archive(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadArchive, match="neither a file nor a folder"):
        sources.read_stored(archive)
    report = run(lake, pipe, Path(os.devnull))
    assert outcomes(report) == ["unreadable", "unreadable"]
    assert {problem.reason for problem in report.problems} == {SkipReason.NOT_A_FILE}


def test_an_archive_deleted_after_the_stat_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(one_turn())
    archive = sources.stat_archive(path)
    path.unlink()
    with pytest.raises(BadArchive, match="does not exist"):
        sources.read_stored(archive)


def test_a_link_to_itself_is_reported(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.symlink_to(path)
    assert outcomes(run(lake, path)) == ["unreadable"]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of a store: one message of two parts."""
    for name in ("session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1", "part/msg_1/prt_2"):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "session" / "p" / "ses_1.json"


def test_a_session_of_a_store_is_its_concatenated_files(session: Path) -> None:
    archive = sources.stat_archive(session)
    names = ["session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1", "part/msg_1/prt_2"]
    assert sources.read_stored(archive)[0] == "".join(f"{name}\n" for name in names).encode()
    assert archive.size == sum(map(len, names))


def test_a_session_changes_when_any_of_its_files_does(session: Path, tmp_path: Path) -> None:
    part = tmp_path / "part" / "msg_1" / "prt_2.json"
    os.utime(part, ns=(1, 1))
    before = sources.stat_archive(session)
    os.utime(part, ns=(1, before.mtime_ns + 1))
    assert sources.stat_archive(session).mtime_ns == before.mtime_ns + 1
    (tmp_path / "part" / "msg_1" / "prt_3.json").write_text("more")
    assert sources.stat_archive(session).size == before.size + 4


def test_a_deleted_part_does_not_affect_the_other_files(session: Path, tmp_path: Path) -> None:
    archive = sources.stat_archive(session)
    (tmp_path / "part" / "msg_1" / "prt_1.json").unlink()
    assert b"prt_2\n" in sources.read_stored(archive)[0]


def test_a_transcript_in_parts_is_one_archive_whose_turns_go_on_in_the_next_part(
    lake: Lake, tmp_path: Path
) -> None:
    lines = one_turn().splitlines(keepends=True)
    first = tmp_path / "raw_transcript"
    first.write_text(lines[0])
    Path(f"{first}.001").write_text("".join(lines[1:]))
    (archive,) = parsing.expand([tmp_path]).archives
    report = run(lake, archive)
    assert counts_every_line(report)
    (path,) = lake.turn_paths()
    (turn,) = pl.read_parquet(path).iter_rows(named=True)
    assert turn["last_line"] == len(lines) > 1
    assert outcomes(run(lake, archive)) == ["unchanged"]


def test_data_is_decompressed_step_by_step() -> None:
    """Of 64 MiB in 64 kB, at most one step is decompressed beyond the limit."""
    bomb = zlib.compress(b"\0" * (64 << 20), wbits=31)
    result = decompress(bomb, 1000)
    assert result.status is DecompressionStatus.LIMIT_EXCEEDED
    assert len(result.data) <= 1000 + (1 << 17)


@both_codecs
def test_a_packed_archive_is_limited_by_its_size_on_disk(
    compress: Compress, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(compress(one_turn().encode() * 3 + b"\0" * (8 << 20)))
    report = run(lake, path, limits=parsing.ParseLimits(small_bytes=1 << 20, expansion=10))
    (problem,) = report.problems
    assert problem.reason is SkipReason.TOO_LARGE
    assert "decompresses to more than 1 MiB" in problem.message
    assert outcomes(run(lake, path)) == ["new"]


@pytest.mark.full
def test_large_data_beyond_the_limit_is_not_kept() -> None:
    bomb = gzip.compress(b"\0" * (80 << 20), compresslevel=1)
    result = decompress(bomb, 70 << 20)
    assert (result.status, result.data) == (DecompressionStatus.LIMIT_EXCEEDED, b"")
    whole = decompress(bomb, 80 << 20)
    assert (whole.status, len(whole.data)) == (DecompressionStatus.COMPLETE, 80 << 20)


def test_a_window_that_is_too_large_is_reported(lake: Lake, tmp_path: Path) -> None:
    """A frame of one block of a thousand equal bytes, which declares a window of 256 MiB."""
    block = (1 | 1 << 1 | 1000 << 3).to_bytes(3, "little") + b"A"
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([18 << 3]) + block
    path = tmp_path / "s1.jsonl.zst"
    path.write_bytes(frame)
    (problem,) = run(lake, path).problems
    assert problem.reason is SkipReason.TOO_LARGE
    assert "128 MiB" in problem.message

"""Where bytes come from: packed or not, cut off, damaged, growing, in many files."""

import gzip
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.parse.readers import accounted, outcomes, run, talk
from turnetl import parse
from turnetl.errors import BadArchive
from turnetl.lake import Lake
from turnetl.model import GroupId
from turnetl.parse import sources
from turnetl.parse.compression import Ending, unpacked

SHOP = GroupId("shop")
Pack = Callable[[bytes], bytes]


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, "zstd", asbytes=True)
    return packed


PACKERS = pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
LARGE = random.Random(4).randbytes(700_000)  # noqa: S311 - the same in every run


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake) -> list[str]:
    return [turn.user_text for turn in lake.turns(SHOP)]


@PACKERS
def test_a_packed_archive_is_read_whatever_it_is_called(
    pack: Pack, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(pack(talk().encode()))
    report = run(lake, path)
    assert (outcomes(report), report.problems, report.read.lines) == (["new"], (), 2)
    assert prompts(lake) == ["Mend the cart."]
    assert outcomes(run(lake, path)) == ["unchanged"]


@PACKERS
def test_members_and_frames_behind_each_other_are_one_text(pack: Pack) -> None:
    whole = unpacked(pack(LARGE) + pack(b"") + pack(b"end"), 1 << 30)
    assert whole.ending is Ending.WHOLE
    assert whole.data == LARGE + b"end"


@PACKERS
def test_what_is_cut_off_gives_what_stands_before_the_cut(pack: Pack) -> None:
    packed = pack(LARGE) + pack(LARGE)
    for cut in (1, 9, len(packed) // 3, len(packed) // 2 + 3):
        made = unpacked(packed[:-cut], 1 << 30)
        assert made.ending is Ending.UNFINISHED
        assert (LARGE + LARGE).startswith(made.data)
        assert len(made.data) > len(LARGE + LARGE) - cut - (1 << 18)


def test_a_frame_that_was_flushed_is_read_to_its_last_byte() -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for line in (b"one\n", b"two\n", b"three\n"):
            stream.write(line)
            stream.flush()
    made = unpacked(sink.getvalue().to_pybytes()[:-3], 1 << 30)
    assert (made.ending, made.data) == (Ending.UNFINISHED, b"one\ntwo\nthree\n")


@PACKERS
def test_what_is_damaged_gives_what_stands_before_it(pack: Pack) -> None:
    for more in (b"no member", b"\xff" * 2000):
        made = unpacked(pack(LARGE) + more, 1 << 30)
        assert (made.ending, made.data == LARGE) == (Ending.BROKEN, True)


def test_zeros_behind_the_last_member_are_padding() -> None:
    made = unpacked(gzip.compress(b"one") + b"\0" * 512, 1 << 30)
    assert (made.ending, made.data) == (Ending.WHOLE, b"one")


@PACKERS
def test_damage_is_said_and_what_came_before_is_in_the_lake(
    pack: Pack, lake: Lake, tmp_path: Path
) -> None:
    paths = [tmp_path / "cut.gz", tmp_path / "damaged.gz"]
    packed = pack(talk().encode())
    paths[0].write_bytes(packed + pack(LARGE)[:-90_000])
    paths[1].write_bytes(packed + b"damage")
    report = run(lake, *paths)
    assert outcomes(report) == ["new", "new"]
    assert [problem.reason for problem in report.problems] == ["unfinished", "broken"]
    assert accounted(report)
    assert set(prompts(lake)) == {"Mend the cart."}


@PACKERS
def test_a_packed_archive_of_which_nothing_is_left_is_unreadable(
    pack: Pack, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.gz"
    path.write_bytes(pack(talk().encode())[:12])
    report = run(lake, path)
    assert outcomes(report) == ["unreadable"]
    assert report.problems[0].reason == "unfinished"


@PACKERS
def test_a_bomb_is_left_alone_as_soon_as_it_is_known_for_one(
    pack: Pack, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(talk().encode() * 3 + b"\0" * (8 << 20)))
    report = run(lake, path, limits=parse.ParseLimits(unpacked=1 << 20))
    assert outcomes(report) == ["unreadable"]
    (problem,) = report.problems
    assert problem.reason == "too_large"
    assert "unpacks to more than 1 MiB" in problem.message
    assert len(unpacked(path.read_bytes(), 1 << 20).data) < 2 << 20


def test_a_large_archive_that_nobody_knows_is_told_by_its_beginning(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "unknown.jsonl"
    path.write_bytes(b'{"event":"boot"}\n' * (sources.HEAD // 17 + 2))
    seen = sources.look(path)
    assert len(sources.head(seen)) == sources.HEAD < seen.size
    path.write_bytes(path.read_bytes() + talk().encode())
    assert outcomes(run(lake, path)) == ["unknown"]


def test_a_large_archive_of_few_long_lines_is_read(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(talk("x" * (sources.HEAD + 9)))
    assert outcomes(run(lake, path)) == ["new"]
    assert [len(prompt) for prompt in prompts(lake)] == [sources.HEAD + 9]


def test_nothing_is_read_that_was_not_there_when_we_looked(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text("one\n")
    seen = sources.look(path)
    with path.open("a") as file:
        file.write("two\n")
    assert sources.stored(seen) == b"one\n"
    path.write_text("")
    assert sources.stored(seen) == b""


def test_a_half_written_last_line_is_unfinished_and_read_once_it_is_whole(
    lake: Lake, tmp_path: Path
) -> None:
    path, more = tmp_path / "s1.jsonl", talk("Push it.", "p1")
    path.write_text(talk() + more[:70])
    report = run(lake, path)
    assert [problem.reason for problem in report.problems] == ["unfinished"]
    assert prompts(lake) == ["Mend the cart."]
    with path.open("a") as file:
        file.write(more[70:])
    assert outcomes(run(lake, path)) == ["changed"]
    assert prompts(lake) == ["Mend the cart.", "Push it."]


def test_a_pipe_is_never_waited_for(lake: Lake, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    path = tmp_path / "s1.jsonl"
    os.mkfifo(pipe)
    path.write_text(talk())
    seen = sources.look(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadArchive, match="neither a file nor a folder"):
        sources.stored(seen)
    report = run(lake, pipe, Path(os.devnull))
    assert outcomes(report) == ["unreadable", "unreadable"]


def test_an_archive_that_vanishes_after_we_looked_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(talk())
    seen = sources.look(path)
    path.unlink()
    with pytest.raises(BadArchive, match="does not exist"):
        sources.stored(seen)


def test_a_link_that_leads_to_itself_is_said(lake: Lake, tmp_path: Path) -> None:
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


def test_a_session_of_a_store_is_its_files_behind_each_other(session: Path) -> None:
    seen = sources.look(session)
    names = ["session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1", "part/msg_1/prt_2"]
    assert sources.stored(seen) == "".join(f"{name}\n" for name in names).encode()
    assert seen.size == sum(map(len, names))


def test_a_session_changes_when_any_of_its_files_does(session: Path, tmp_path: Path) -> None:
    part = tmp_path / "part" / "msg_1" / "prt_2.json"
    os.utime(part, ns=(1, 1))
    before = sources.look(session)
    os.utime(part, ns=(1, before.mtime_ns + 1))
    assert sources.look(session).mtime_ns == before.mtime_ns + 1
    (tmp_path / "part" / "msg_1" / "prt_3.json").write_text("more")
    assert sources.look(session).size == before.size + 4


def test_a_part_that_vanishes_takes_nothing_else_with_it(session: Path, tmp_path: Path) -> None:
    seen = sources.look(session)
    (tmp_path / "part" / "msg_1" / "prt_1.json").unlink()
    assert b"prt_2\n" in sources.stored(seen)


def test_packed_bytes_are_unpacked_step_by_step() -> None:
    """Of 64 MiB packed into 64 kB, no more than a step is unpacked beyond what was asked for."""
    bomb = zlib.compress(b"\0" * (64 << 20), wbits=31)
    made = unpacked(bomb, 1000)
    assert made.ending is Ending.MORE
    assert len(made.data) <= 1000 + (1 << 17)

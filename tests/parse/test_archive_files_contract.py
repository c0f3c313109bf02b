"""What every place of archives does: a folder of this machine, and a bucket on a real S3 server."""

import gzip
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.command import SAMPLES
from tests.parse.archive_places import ArchivePlace, Bucket, Folder
from tests.parse.parse_runs import one_turn, outcomes, run
from turnetl import parsing
from turnetl.base.errors import BadArchive
from turnetl.base.object_url import path_text
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.parsing.sources import ParseLimits, stat_archive

ODD_NAMES = ("a b.jsonl", "odd[1]*?.jsonl", "q%2F#+&.jsonl", "tab\\x.jsonl", ".ü .jsonl")
NewPlace = Callable[[str], ArchivePlace]


@pytest.fixture
def new_place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> NewPlace:
    def make(kind: str) -> ArchivePlace:
        if kind == "folder":
            return Folder(tmp_path / "archives")
        s3 = request.getfixturevalue("s3")
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
        return Bucket(s3)

    return make


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, new_place: NewPlace) -> ArchivePlace:
    return new_place(request.param)


def names(place: ArchivePlace, *given: str) -> list[str]:
    """Return what is found, below the place."""
    found = parsing.expand(given or [place.given], place.files())
    assert not found.problems, found.problems
    return [path.relative_to(place.root).as_posix() for path in found.archives]


def reason(call: Callable[[], object]) -> SkipReason:
    with pytest.raises(BadArchive) as raised:
        call()
    return raised.value.reason


def test_the_state_of_a_file_is_known_without_reading_it(place: ArchivePlace) -> None:
    place.put("a.jsonl", b"one\n")
    first = place.files().state(place.root / "a.jsonl")
    assert (first.path, first.size) == (place.root / "a.jsonl", 4)
    place.put("a.jsonl", b"three\n")
    assert place.files().state(place.root / "a.jsonl") != first
    assert reason(lambda: place.files().state(place.root / "b.jsonl")) is SkipReason.MISSING


@pytest.mark.parametrize("content", [b"", b"one\n", b"x" * 100_000])
def test_a_file_is_read_whole_and_from_its_start(place: ArchivePlace, content: bytes) -> None:
    place.put("a.jsonl", content)
    path, files = place.root / "a.jsonl", place.files()
    state = files.state(path)
    assert files.read(state) == (content, state)
    assert files.start(path, 3) == content[:3]
    assert files.start(path, 0) == b""


def test_a_file_that_is_gone_cannot_be_read(place: ArchivePlace) -> None:
    place.put("a.jsonl", b"one\n")
    files = place.files()
    state = files.state(place.root / "a.jsonl")
    place.delete("a.jsonl")
    assert reason(lambda: files.read(state)) is SkipReason.MISSING
    assert reason(lambda: files.start(state.path, 9)) is SkipReason.MISSING


def test_files_and_folders_are_told_apart(place: ArchivePlace) -> None:
    place.put("a/b.jsonl", b"one\n")
    place.put("a/c/d.json", b"")
    place.put("ab.jsonl", b"")
    files, root = place.files(), place.root
    files.look_up([root / "a" / "b.jsonl", root / "none.jsonl"])
    assert [files.is_file(root / name) for name in ("a/b.jsonl", "a", "x", "none.jsonl")] == [
        True,
        False,
        False,
        False,
    ]
    assert [files.is_folder(root / name) for name in ("a", "a/c", "a/b.jsonl", "x")] == [
        True,
        True,
        False,
        False,
    ]
    assert files.entries(root) == [root / "a", root / "ab.jsonl"]
    assert files.entries(root / "a") == [root / "a" / "b.jsonl", root / "a" / "c"]
    assert files.entries(root / "x") == []


def test_a_folder_is_searched_for_archives(place: ArchivePlace) -> None:
    for name in ("b.jsonl", "a/x.JSON.gz", "a/deep/y.json.zst", "notes.md", "z.jsonl.bak"):
        place.put(name, b"{}\n")
    assert names(place) == ["a/deep/y.json.zst", "a/x.JSON.gz", "b.jsonl"]
    found = parsing.expand([place.given], place.files())
    assert found.other_files == {SkipReason.OTHER_FILE: 1, SkipReason.RENAMED: 1}
    assert names(place, f"{place.given}/") == names(place)
    assert names(place, f"{place.given}/a/", f"{place.given}/b.jsonl") == names(place)


def test_a_named_file_is_used_with_any_suffix(place: ArchivePlace) -> None:
    place.put("notes.md", b"{}\n")
    assert names(place, f"{place.given}/notes.md") == ["notes.md"]


def test_a_glob_gives_the_archives_that_it_matches(place: ArchivePlace) -> None:
    for name in ("a.json", "shop/b.jsonl", "shop/deep/c.jsonl", "shop/notes.md", ".h/d.jsonl"):
        place.put(name, b"{}\n")
    assert names(place, f"{place.given}/*.json") == ["a.json"]
    assert names(place, f"{place.given}/**/*.jsonl") == ["shop/b.jsonl", "shop/deep/c.jsonl"]
    assert names(place, f"{place.given}/sho?") == ["shop/b.jsonl", "shop/deep/c.jsonl"]
    found = parsing.expand([f"{place.given}/*.csv"], place.files())
    assert "matches no file" in found.problems[0].message


def test_odd_names_are_read(place: ArchivePlace, tmp_path: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        place.put(name, one_turn(f"Mend {number}.", f"p{number}").encode())
    assert names(place) == sorted(ODD_NAMES)
    named = [f"{place.given}/{name}" for name in ODD_NAMES]
    assert names(place, *named) == sorted(ODD_NAMES)
    found = parsing.expand([place.given], place.files())
    lake = Lake(tmp_path / "lake")
    assert outcomes(run(lake, *found.archives, files=place.files())) == ["new"] * len(ODD_NAMES)
    stored = {file.metadata.archive for file in lake.turn_files()}
    assert stored == {f"{place.given}/{name}" for name in ODD_NAMES}


def test_nothing_is_found_where_nothing_is(place: ArchivePlace) -> None:
    place.put("notes.md", b"")
    found = parsing.expand([place.given, f"{place.given}/none"], place.files())
    assert [problem.reason for problem in found.problems] == [SkipReason.EMPTY, SkipReason.MISSING]
    assert [problem.path for problem in found.problems] == [place.given, f"{place.given}/none"]


def test_a_worker_process_gets_a_copy(place: ArchivePlace) -> None:
    place.put("a.jsonl", b"one\n")
    files = place.files()
    state = files.state(place.root / "a.jsonl")
    copy: ArchiveFiles = pickle.loads(pickle.dumps(files))  # noqa: S301 - as multiprocessing does
    assert copy.read(state)[0] == b"one\n"


def test_the_messages_of_a_store_belong_to_their_session(place: ArchivePlace) -> None:
    stored = opencode_store()
    for name, content in stored.items():
        place.put(f"store/{name}", content)
    place.put("store/part/msg_9/prt_9.json", b"{}")
    found = parsing.expand([place.given], place.files())
    (archive,) = found.archives
    assert archive == place.root / "store/session/f00d/ses_1.json"
    (problem,) = found.problems
    assert (problem.path, problem.reason) == (f"{place.given}/store/part/msg_9", SkipReason.ORPHAN)
    stat = stat_archive(archive, place.files())
    assert [file.path.name for file in stat.files] == [Path(name).name for name in stored]
    before = stat_archive(archive, place.files())
    place.put("store/part/msg_1/prt_1.json", b'{"longer": "than before", "by": "some characters"}')
    after = stat_archive(archive, place.files())
    assert (after.size, after.e_tag) != (before.size, before.e_tag)


def test_a_folder_and_a_bucket_give_the_same_tables(new_place: NewPlace, tmp_path: Path) -> None:
    content = archives()
    tables: list[list[tuple[pl.DataFrame, dict[str, Any]]]] = []
    reports = []
    for kind in ("folder", "bucket"):
        place, lake = new_place(kind), Lake(tmp_path / f"lake-{kind}")
        for name, data in content.items():
            place.put(name, data)
        files = place.files()
        found = parsing.expand([place.given], files)
        limits = ParseLimits(bytes_per_process=1 << 20)
        report = run(lake, *found.archives, files=files, jobs=2, limits=limits)
        again = run(lake, *found.archives, files=place.files())
        assert set(outcomes(again)) == {"unchanged", "unknown"}
        reports.append([(one.outcome, one.format, one.counts) for one in report.archives])
        read = map(as_table(lake), lake.turn_files())
        tables.append(sorted(read, key=lambda table: str(table[1]["sha256"])))
    assert reports[0] == reports[1]
    assert len(tables[0]) == len(tables[1]) > len(content) // 2
    for (local, of_file), (remote, of_object) in zip(*tables, strict=True):
        assert of_file == of_object
        assert local.equals(remote)


def as_table(lake: Lake) -> Callable[[Any], tuple[pl.DataFrame, dict[str, Any]]]:
    """Return the rows and the metadata of a turns file, apart from paths and times of archives."""

    def table(file: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
        fields = {
            name: getattr(file.metadata, name)
            for name in file.metadata.__slots__
            if name not in ("archive", "mtime_ns", "e_tag")
        }
        return lake.read_turns_file(file.path).drop("archive"), fields

    return table


def archives() -> Mapping[str, bytes]:
    """Return the sample archives and others, by name: compressed, of an unknown format, a store."""
    samples = {
        path.relative_to(SAMPLES).as_posix(): path.read_bytes()
        for path in sorted(SAMPLES.rglob("*.json*"))
    }
    store = {f"store/{name}": data for name, data in opencode_store().items()}
    return {
        **samples,
        **store,
        "packed.jsonl.gz": gzip.compress(one_turn().encode()),
        "unknown.jsonl": b'{"event": "boot"}\n',
        "empty.jsonl": b"",
    }


def opencode_store() -> Mapping[str, bytes]:
    """Return the files of a session of OpenCode, in the order in which they are read."""
    session = {"id": "ses_1", "directory": "/home/dev/shop", "time": {"created": 1764000000000}}
    message = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1764000001}}
    part = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Hi"}
    rows = {
        "session/f00d/ses_1.json": session,
        "message/ses_1/msg_1.json": message,
        "part/msg_1/prt_1.json": part,
    }
    return {name: json.dumps(row).encode() for name, row in rows.items()}


def test_the_text_of_a_path_is_what_the_user_gave(place: ArchivePlace) -> None:
    assert path_text(place.root / "a.jsonl") == f"{place.given}/a.jsonl"

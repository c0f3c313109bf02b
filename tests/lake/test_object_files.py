"""A lake in a bucket that several machines read and write at once."""

import os
import subprocess
import sys
import threading
import traceback
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.lake import object_lakes
from tests.lake.object_lakes import Clock, lake_of, machine
from tests.servers.s3_server import S3Server
from turnetl.base.errors import BadUsage, Fatal, LakeBusy, LakeChanged
from turnetl.base.model import GroupId, TurnId
from turnetl.base.object_url import ObjectUrl
from turnetl.lake.forgotten import read_forgotten, rewrite_forgotten
from turnetl.lake.object_files import FRESH_SECONDS, ObjectFiles
from turnetl.lake.redaction_key import redaction_key


@pytest.fixture
def url(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> ObjectUrl:
    return object_lakes.new_url(s3, monkeypatch)


def write(files: ObjectFiles, name: str, text: str) -> None:
    files.replace(files.root / name, lambda file: file.write(text.encode()))


def read(files: ObjectFiles, name: str) -> str:
    files.fetch([files.root / name])
    return (files.root / name).read_text()


def test_the_loser_of_a_race_for_a_new_object_learns_of_it(url: ObjectUrl, tmp_path: Path) -> None:
    here, there = machine(url, tmp_path / "a"), machine(url, tmp_path / "b")
    for files in (here, there):
        assert files.names(files.root) == []
        files.fetch([files.root / "x"])
    write(here, "x", "one")
    with pytest.raises(LakeChanged, match=r"`s3://.*/x` while this one used it; repeat"):
        write(there, "x", "two")
    assert read(there, "x") == "one"
    write(there, "x", "two")
    assert read(machine(url, tmp_path / "c"), "x") == "two"


def test_the_loser_of_a_race_for_a_replacement_learns_of_it(url: ObjectUrl, tmp_path: Path) -> None:
    here, there = machine(url, tmp_path / "a"), machine(url, tmp_path / "b")
    write(here, "x", "one")
    assert read(there, "x") == "one"
    write(here, "x", "two")
    with pytest.raises(LakeChanged):
        write(there, "x", "three")
    here.delete(here.root / "x")
    with pytest.raises(LakeChanged):
        write(there, "x", "three")
    # A listing without the object says that a write replaces nothing.
    there.names(there.root)
    write(here, "y", "one")
    with pytest.raises(LakeChanged):
        write(there, "y", "two")


def test_two_machines_that_write_the_same_are_no_race(url: ObjectUrl, tmp_path: Path) -> None:
    here, there = machine(url, tmp_path / "a"), machine(url, tmp_path / "b")
    for files in (here, there):
        files.fetch([files.root / "x"])
    write(here, "x", "one")
    write(there, "x", "one")
    assert read(there, "x") == "one"


def test_a_copy_is_read_without_a_request_while_it_is_fresh(url: ObjectUrl, tmp_path: Path) -> None:
    clock = Clock()
    here, there = machine(url, tmp_path / "a"), machine(url, tmp_path / "b", clock)
    write(here, "x", "one")
    assert read(there, "x") == "one"
    write(here, "x", "two")
    assert read(there, "x") == "one"
    clock.now += FRESH_SECONDS + 1
    assert read(there, "x") == "two"


def test_a_copy_that_something_changed_is_read_again(url: ObjectUrl, tmp_path: Path) -> None:
    here = machine(url, tmp_path / "a")
    write(here, "x", "one")
    (here.root / "x").write_text("something else")
    assert read(here, "x") == "one"
    (here.root / ".x.etag").write_text("no JSON")
    (here.root / "x").write_text("two")
    assert read(machine(url, tmp_path / "a"), "x") == "one"


def test_copies_are_removed_when_there_are_too_many(url: ObjectUrl, tmp_path: Path) -> None:
    here = machine(url, tmp_path / "a")
    write(here, "old", "1" * 100)
    write(here, "new", "2" * 100)
    from turnetl.lake.object_files import DAY, ObjectCopies  # noqa: PLC0415

    copies, now = ObjectCopies(tmp_path / "a" / "turnetl-objects"), 4_000_000_000.0
    copies.prune(1, now)
    assert not (here.root / "old").exists()
    assert read(here, "old") == "1" * 100
    copies.prune(1, now + DAY / 2)
    assert (here.root / "old").exists()


def test_machines_that_create_the_redaction_key_at_once_have_the_same(
    url: ObjectUrl, tmp_path: Path
) -> None:
    lakes = [lake_of(machine(url, tmp_path / name)) for name in "ab"]
    for lake in lakes:
        assert lake.groups() == []
    assert len({redaction_key(lake, create=True) for lake in lakes}) == 1


def test_turns_that_two_machines_forget_at_once_are_all_listed(
    url: ObjectUrl, tmp_path: Path
) -> None:
    here, there = machine(url, tmp_path / "a"), machine(url, tmp_path / "b")
    group, turns = GroupId("shop"), [TurnId("t1"), TurnId("t2")]
    assert not read_forgotten(here)
    assert not read_forgotten(there)
    rewrite_forgotten(here, lambda listed: listed.extended([(group, turns[0])]))
    rewrite_forgotten(there, lambda listed: listed.extended([(group, turns[1])]))
    listed = read_forgotten(machine(url, tmp_path / "c"))
    assert all(listed.includes(turn, None) for turn in turns)


def test_a_bucket_that_does_not_exist_is_wrong_usage(url: ObjectUrl, tmp_path: Path) -> None:
    missing = replace(url, bucket="no-such-bucket", prefix="lake")
    lake = lake_of(machine(missing, tmp_path))
    for request in (lake.files.check, lake.groups, lambda: read_forgotten(lake.files)):
        with pytest.raises(BadUsage, match="bucket of the lake `s3://no-such-bucket/lake` does"):
            request()
    with pytest.raises(BadUsage, match="does not exist; create it, or name another"):
        write(machine(missing, tmp_path / "b"), "x", "one")
    assert not list(tmp_path.rglob("x"))


def test_a_refused_request_says_what_to_check(s3: S3Server, url: ObjectUrl, tmp_path: Path) -> None:
    here = machine(url, tmp_path)
    write(here, "x", "one")
    s3.refuse_everything()
    try:
        with pytest.raises(Fatal, match="credentials in this environment") as refused:
            write(here, "x", "two")
    finally:
        s3.accept_everything()
    assert "status 403" in str(refused.value)
    assert read(machine(url, tmp_path), "x") == "one"


@pytest.mark.full
def test_a_server_that_is_down_is_busy(
    url: ObjectUrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(LakeBusy, match="did not answer: check the network") as busy:
        machine(url, tmp_path).check()
    assert busy.value.__cause__ is None


class _Answer(BaseHTTPRequestHandler):
    status = 500

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_GET  # noqa: N815 - as the library calls it

    def log_message(self, *_: object) -> None:
        """Print nothing."""


ANSWERS: dict[int, tuple[type[Exception], str]] = {
    400: (Fatal, r"refused a request \(status 400\)"),
    401: (Fatal, "refuses access"),
    403: (Fatal, "refuses access"),
    501: (Fatal, "has no conditional writes"),
    503: (LakeBusy, "did not answer"),
}


@pytest.mark.full
@pytest.mark.parametrize("status", ANSWERS)
def test_an_answer_of_the_server_becomes_one_sentence(
    status: int, url: ObjectUrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, sentence = ANSWERS[status]
    secret = os.urandom(16).hex()
    handler = type("Handler", (_Answer,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", secret)
        with pytest.raises(kind, match=sentence) as raised:
            write(machine(url, tmp_path), "x", "one")
        server.shutdown()
    assert secret not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__suppress_context__


def test_a_provider_without_an_account_is_named(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="no valid credentials for the lake `az://container/x`"):
        machine(ObjectUrl("az", "container", "x"), tmp_path).check()


PROGRAM = """
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from turnetl.lake.object_files import ObjectFiles
from turnetl.base.object_url import ObjectUrl
files = ObjectFiles(ObjectUrl("s3", sys.argv[1], "lake"), Path(sys.argv[2]), allow_http=True)
files.replace(files.root / "x", lambda file: file.write(b"x" * (8 << 20)))
"""


@pytest.mark.full
def test_a_killed_writer_leaves_the_object_as_it_was(url: ObjectUrl, tmp_path: Path) -> None:
    url = replace(url, prefix="lake")
    here = machine(url, tmp_path / "a")
    write(here, "x", "one")
    command = [sys.executable, "-c", PROGRAM, url.bucket, str(tmp_path / "b")]
    for _ in range(3):
        with subprocess.Popen(command) as process:
            try:
                process.wait(0.3)
            except subprocess.TimeoutExpired:
                process.kill()
        there = machine(url, tmp_path / "b")
        assert read(there, "x") in ("one", "x" * (8 << 20))

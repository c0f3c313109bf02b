"""Archives in a bucket on a real S3 server: what is read again, and what cannot be read."""

import os
import socket
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import pytest
from obstore.exceptions import PermissionDeniedError

from tests.parse.archive_places import Bucket
from tests.parse.parse_runs import one_turn, outcomes, run
from tests.redact.canaries import fresh
from tests.servers.s3_server import S3Server
from turnetl import parsing
from turnetl.base.errors import ArchivesBusy, BadArchive, Fatal
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.lake.object_store import ObjectState, ObjectStore
from turnetl.parsing.archive_paths import find_archive, is_redacted
from turnetl.parsing.object_archives import ObjectArchives
from turnetl.redact import SecretRedactor

SHOP = GroupId("shop")


@pytest.fixture
def bucket(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return Bucket(s3)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def parse(lake: Lake, bucket: Bucket) -> parsing.ParseReport:
    """Parse everything in the bucket, as a new process does."""
    files = bucket.files()
    found = parsing.expand([bucket.given], files)
    assert not found.problems
    return run(lake, *found.archives, files=files)


def refuse_reads(bucket: Bucket, name: str = "*") -> None:
    bucket.s3.refuse(["s3:GetObject"], f"{bucket.name}/{bucket.key(name)}")


def only_problem(given: str, bucket: Bucket) -> parsing.Problem:
    found = parsing.expand([given], bucket.files())
    assert not found.archives
    (problem,) = found.problems
    return problem


def prompts(lake: Lake) -> list[str]:
    return [turn.user_text for turn in lake.turns(SHOP)]


def test_an_unchanged_object_is_not_read(bucket: Bucket, lake: Lake) -> None:
    bucket.put("a.jsonl", one_turn().encode())
    assert outcomes(parse(lake, bucket)) == ["new"]
    refuse_reads(bucket)
    assert outcomes(parse(lake, bucket)) == ["unchanged"]


def test_an_object_that_was_written_again_with_the_same_content_is_not_read(
    bucket: Bucket, lake: Lake
) -> None:
    bucket.put("a.jsonl", one_turn().encode())
    parse(lake, bucket)
    bucket.put("a.jsonl", one_turn().encode())
    refuse_reads(bucket)
    assert outcomes(parse(lake, bucket)) == ["unchanged"]


def test_an_object_with_the_same_size_and_other_content_is_read(bucket: Bucket, lake: Lake) -> None:
    bucket.put("a.jsonl", one_turn("Mend it.").encode())
    parse(lake, bucket)
    bucket.put("a.jsonl", one_turn("Sell it.").encode())
    assert outcomes(parse(lake, bucket)) == ["changed"]
    assert prompts(lake) == ["Sell it."]


def test_what_is_recorded_is_the_state_that_was_read(bucket: Bucket, lake: Lake) -> None:
    """Another program replaces the object between the listing and the reading."""
    bucket.put("a.jsonl", one_turn("Old.").encode())
    files = bucket.files()
    found = parsing.expand([bucket.given], files)
    bucket.put("a.jsonl", (one_turn("Old.") + one_turn("New.", "p1")).encode())
    run(lake, *found.archives, files=files)
    assert prompts(lake) == ["Old.", "New."]
    assert outcomes(parse(lake, bucket)) == ["unchanged"]


def test_turns_of_an_object_that_is_deleted_or_shortened_stay(bucket: Bucket, lake: Lake) -> None:
    bucket.put("a.jsonl", (one_turn() + one_turn("Push it.", "p1")).encode())
    bucket.put("b.jsonl", one_turn("Wash it.", "p2").encode())
    parse(lake, bucket)
    bucket.put("a.jsonl", one_turn().encode())
    bucket.delete("b.jsonl")
    assert parse(lake, bucket).retained_turns == 1
    assert sorted(prompts(lake)) == ["Mend the cart.", "Push it.", "Wash it."]


def test_an_object_deleted_after_the_listing_is_counted(bucket: Bucket, lake: Lake) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        bucket.put(name, one_turn().encode())
    files = bucket.files()
    found = parsing.expand([bucket.given], files)
    bucket.delete("a.jsonl")
    report = run(lake, *found.archives, files=files)
    assert outcomes(report) == ["unreadable", "new"]
    (problem,) = report.problems
    assert problem.message == f"`{bucket.given}/a.jsonl` does not exist; check the URL."


def test_an_object_that_may_not_be_read_is_counted_and_the_others_are_read(
    bucket: Bucket, lake: Lake
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        bucket.put(name, one_turn().encode())
    refuse_reads(bucket, "a.jsonl")
    report = parse(lake, bucket)
    assert outcomes(report) == ["unreadable", "new"]
    (problem,) = report.problems
    assert (problem.path, problem.reason) == (f"{bucket.given}/a.jsonl", SkipReason.UNREADABLE)
    assert "the object store refuses access (status 403); check that the" in problem.message


def test_a_bucket_that_may_not_be_listed_is_reported(bucket: Bucket) -> None:
    bucket.put("a.jsonl", one_turn().encode())
    files = ObjectArchives(["s3"], open_store=RefusingStore)
    (problem,) = parsing.expand([bucket.given], files).problems
    assert (problem.path, problem.reason) == (bucket.given, SkipReason.UNREADABLE)
    assert "check that the credentials in this environment may list and read it" in problem.message
    named = parsing.expand([f"{bucket.given}/a.jsonl"], files)
    assert len(named.archives) == 1


def test_a_bucket_that_does_not_exist_is_reported(bucket: Bucket) -> None:
    problem = only_problem("s3://no-such-bucket/x", bucket)
    assert problem.reason is SkipReason.MISSING
    assert problem.message == (
        "`s3://no-such-bucket/x` is in a bucket that does not exist; check the URL."
    )


@pytest.mark.parametrize("given", ["s3://key:secret@bucket/x", "s3://b//x", "s3://b/../x", "s3://"])
def test_a_url_that_is_not_valid_is_reported_without_a_password(given: str, bucket: Bucket) -> None:
    problem = only_problem(given, bucket)
    assert problem.message.startswith("`s3://` must be `s3://bucket/name` without a user")
    assert "secret" not in problem.message


def test_a_folder_with_a_name_that_is_no_path_is_reported_and_the_others_are_searched(
    bucket: Bucket,
) -> None:
    for name in ("a/b.jsonl", "a/c/d.jsonl", "other/below/x.jsonl", "e.jsonl"):
        bucket.put(name, b"{}")
    for name in ("other//two.jsonl", "other/%01.jsonl", "dot/./x.jsonl"):
        bucket.s3.request("PUT", f"/{bucket.name}/{quote(bucket.key(''))}{name}", b"{}")
    for given in (bucket.given, f"s3://{bucket.name}"):
        found = parsing.expand([given], bucket.files())
        assert [path.name for path in found.archives] == ["b.jsonl", "d.jsonl", "e.jsonl"]
        assert [problem.path for problem in found.problems] == [
            f"{bucket.given}/dot",
            f"{bucket.given}/other",
        ]
        assert {problem.reason for problem in found.problems} == {SkipReason.UNREADABLE}
        assert "cannot be listed, because the name of an object" in found.problems[0].message
    bucket.s3.request("PUT", f"/{bucket.name}/only/here//x.jsonl", b"{}")
    assert only_problem(f"s3://{bucket.name}/only", bucket).path.endswith("/only/here")
    problem = only_problem(f"{bucket.given}/other", bucket)
    assert problem.path == f"{bucket.given}/other"
    assert len(parsing.expand([f"{bucket.given}/other/below"], bucket.files()).archives) == 1


@pytest.mark.full
def test_a_server_that_does_not_answer_stops_the_run(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(ArchivesBusy, match="did not answer: check the network") as busy:
            parsing.expand([bucket.given], bucket.files())
    assert "127.0.0.1" not in str(busy.value)


def test_wrong_credentials_stop_the_run(bucket: Bucket) -> None:
    bucket.s3.refuse_everything()
    try:
        with pytest.raises(Fatal, match="no valid credentials for the archives in `s3://"):
            parsing.expand([bucket.given], bucket.files())
    finally:
        bucket.s3.accept_everything()


def test_a_large_object_is_read_in_parts(bucket: Bucket) -> None:
    content = bytes(range(256)) * 5
    bucket.put("a.jsonl", content)
    path = bucket.root / "a.jsonl"
    for part_bytes in (70, 640, 1279, 1280, 1281):
        files = ObjectArchives(["s3"], part_bytes)
        assert files.read(files.state(path))[0] == content


class RefusingStore(ObjectStore):
    """Nothing may be listed."""

    def states(self, folder: str) -> dict[str, ObjectState]:
        with self._errors():
            raise PermissionDeniedError(f"{folder}: status code: 403")


class ReplacedStore(ObjectStore):
    """Another program replaces the object after each of the first reads."""

    contents: ClassVar[list[bytes]]

    def read_range(self, name: str, start: int, end: int) -> tuple[bytes, ObjectState]:
        found = super().read_range(name, start, end)
        if self.contents:
            self.write(name, self.contents.pop(), None)
        return found


@pytest.mark.parametrize("replaced", [[b"two2"], [b"three"], [b""], [b"5"]])
def test_an_object_that_changes_while_it_is_read_is_read_again(
    replaced: list[bytes], bucket: Bucket
) -> None:
    class Store(ReplacedStore):
        contents: ClassVar = replaced[::-1]

    bucket.put("a.jsonl", b"one1")
    files = ObjectArchives(["s3"], part_bytes=2, open_store=Store)
    state = files.state(bucket.root / "a.jsonl")
    data, read = files.read(state)
    assert data == replaced[-1]
    assert read == bucket.files().state(bucket.root / "a.jsonl")


def test_an_object_that_changes_all_the_time_is_reported(bucket: Bucket) -> None:
    class Store(ReplacedStore):
        contents: ClassVar = [b"%04d" % number for number in range(50)]

    bucket.put("a.jsonl", b"one1")
    files = ObjectArchives(["s3"], part_bytes=2, open_store=Store)
    with pytest.raises(BadArchive, match="was replaced each time while it was read; run again"):
        files.read(files.state(bucket.root / "a.jsonl"))


def test_a_redacted_name_leads_to_the_object(bucket: Bucket, lake: Lake) -> None:
    redactor, files = SecretRedactor(os.urandom(32)), bucket.files()
    name = f"ghp_{fresh(36)}/a.jsonl"
    bucket.put(name, one_turn().encode())
    found = parsing.expand([bucket.given], files)
    run(lake, *found.archives, files=files, redactor=redactor)
    stored = lake.turn_files()[0].metadata.archive
    assert is_redacted(stored)
    assert stored.startswith(f"{bucket.given}/")
    assert find_archive(stored, redactor.stands_for, bucket.files()) == bucket.root / name
    bucket.delete(name)
    with pytest.raises(BadArchive, match="no file has such a path"):
        find_archive(stored, redactor.stands_for, bucket.files())


def test_no_file_is_left_on_this_machine(
    bucket: Bucket, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    bucket.put("a.jsonl", one_turn().encode())
    parse(lake, bucket)
    assert not list((tmp_path / "home").iterdir())


def test_a_session_whose_messages_may_not_be_listed_is_not_read_in_part(
    bucket: Bucket, lake: Lake
) -> None:
    bucket.put("session/p/ses_1.json", b'{"id": "ses_1", "time": {}}')
    files = ObjectArchives(["s3"], open_store=RefusingStore)
    found = parsing.expand([f"{bucket.given}/session/p/ses_1.json"], files)
    assert outcomes(run(lake, *found.archives, files=files)) == ["unreadable"]

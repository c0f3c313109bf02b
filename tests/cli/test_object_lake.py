"""A lake in a bucket on a real S3 server, as the commands use it."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.command import (
    SAMPLES,
    CommandResult,
    clean_environment,
    command_line,
    run_in_process,
)
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider
from tests.servers.s3_server import S3Server
from turnetl.base.exit_code import ExitCode

CANARY = os.urandom(16).hex()
"""A secret key that no output may hold."""


class LakeMachine:
    """A machine with a home, caches and working files of its own."""

    def __init__(self, s3: S3Server, lake: str, folder: Path) -> None:
        self.s3, self.home, self.lake = s3, folder, lake
        cache = folder / "cache"
        cache.mkdir(parents=True)
        # The secret scanner compiles its rules for seconds if it finds no cache of them.
        shared = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kingfisher"  # noqa: TID251
        shared.mkdir(parents=True, exist_ok=True)
        (cache / "kingfisher").symlink_to(shared)
        self.environment = s3.environment | {
            "XDG_CACHE_HOME": str(cache),
            "AWS_SECRET_ACCESS_KEY": CANARY,
        }

    def run(self, *arguments: str | Path, code: int = 0, **environment: str) -> CommandResult:
        named = (*arguments, "--lake", self.lake, "--json")
        result = run_in_process(*named, folder=self.home, **self.environment | environment)
        assert result.exit_code == code, result.stderr
        assert CANARY not in result.stdout + result.stderr
        return result

    def responses(self, bucket: str, prefix: str) -> int:
        """Return the number of responses in the lake."""
        pages = self.s3.objects(bucket).list(f"{prefix}/journal")
        return sum(len(page) for page in pages)


@pytest.fixture
def lake(s3: S3Server) -> str:
    return f"s3://{s3.new_bucket()}/team/lake"


@pytest.fixture
def here(s3: S3Server, lake: str, tmp_path: Path) -> LakeMachine:
    return LakeMachine(s3, lake, tmp_path / "here")


@pytest.fixture
def there(s3: S3Server, lake: str, tmp_path: Path) -> LakeMachine:
    return LakeMachine(s3, lake, tmp_path / "there")


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "bookshop", tmp_path / "archives"))


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the tables in a folder with their names below it."""
    found = sorted(folder.rglob("*.parquet"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_no_folder_is_made_with_the_name_of_a_url(here: LakeMachine, archives: Path) -> None:
    here.run("parse", archives)
    assert {path.name for path in here.home.iterdir()} <= {"cache", ".turnetl", ".cache"}


@pytest.mark.full
def test_a_lake_in_a_bucket_holds_the_same_tables_as_a_folder(
    here: LakeMachine, there: LakeMachine, archives: Path
) -> None:
    here.run("parse", archives)
    here.run("filter")
    copies = here.home / "cache" / "turnetl-objects" / here.lake.replace("://", "/")
    local = here.home / "local"
    local.mkdir()
    shutil.copy2(copies / "redaction.key", local)
    for command in (("parse", archives), ("filter",)):
        result = run_in_process(*command, "--lake", local, folder=here.home, **here.environment)
        assert result.exit_code == 0, result.stderr
    assert files_below(copies) == files_below(local)
    there.run("status")
    assert there.run("parse", archives).json["archives"]["new"] == 0


@pytest.mark.full
def test_every_command_works_with_it(here: LakeMachine, archives: Path) -> None:
    here.run("backfill", archives)
    assert here.run("status").json["groups"]
    assert here.run("search", "integer cents").json["hits"]
    for command in ("verify", "runs", "plan", "index", "summarize", "retry"):
        here.run(command)
    here.run("plan", archives)
    (run,) = here.run("runs").json["runs"]
    copies = here.home / "cache" / "turnetl-objects"
    assert not list(copies.rglob("estimates"))
    here.run("undo", run["run_id"], "--yes")
    here.run("ingest")
    here.run("redo", "--stale", "--yes")
    here.run("verify")


@pytest.mark.full
def test_what_is_forgotten_is_in_no_object_and_no_copy(
    here: LakeMachine, there: LakeMachine, archives: Path
) -> None:
    here.run("backfill", archives)
    text = "integer cents"
    assert text.encode() in b"".join(path.read_bytes() for path in archives.rglob("*.jsonl"))
    report = here.run("forget", "--match", text, "--cascade", "--yes").json
    assert report["proven"]
    assert report["files_searched"]
    # Another machine, which has the archives too, does not bring the turn back.
    before = here.run("status").json["groups"][0]["turns"]
    there.run("backfill", archives)
    assert there.run("status").json["groups"][0]["turns"] == before


@pytest.mark.full
def test_archives_of_two_machines_are_in_one_lake(
    here: LakeMachine, there: LakeMachine, archives: Path
) -> None:
    first, *others = sorted(archives.glob("*.jsonl"))
    here.run("parse", first)
    there.run("parse", *others)
    here.run("filter")
    there.run("filter")
    turns = [machine.run("status").json["groups"][0]["turns"] for machine in (here, there)]
    assert turns[0] == turns[1] > 0


@pytest.mark.full
def test_shards_on_two_machines_make_the_lake_of_one(
    here: LakeMachine, there: LakeMachine, archives: Path, s3: S3Server, tmp_path: Path
) -> None:
    one = LakeMachine(s3, f"s3://{s3.new_bucket()}/lake", tmp_path / "one")
    here.run("parse", archives, "--shard", "1/2")
    bucket, _, prefix = here.lake.removeprefix("s3://").partition("/")
    other = one.lake.removeprefix("s3://").partition("/")[0]
    key = bytes(s3.objects(bucket).get(f"{prefix}/redaction.key").bytes())
    s3.objects(other).put("lake/redaction.key", key)
    there.run("parse", archives, "--shard", "2/2")
    one.run("parse", archives)
    for machine in (here, there, one):
        machine.run("filter")
    assert s3.tables(bucket, prefix) == s3.tables(other, "lake")


@pytest.mark.full
def test_a_plan_reads_archives_with_the_key_of_the_lake(here: LakeMachine, archives: Path) -> None:
    here.run("backfill", archives)
    shutil.copy2(min(archives.glob("*.jsonl")), archives / "new.jsonl")
    report = here.run("plan", archives).json
    assert report["parsed"]["archives"]["unchanged"] == len(list(archives.iterdir())) - 1


@pytest.fixture
def refusing(s3: S3Server) -> Iterator[S3Server]:
    yield s3
    s3.accept_everything()


@pytest.mark.full
def test_what_is_wrong_with_a_bucket_is_one_sentence(
    here: LakeMachine, there: LakeMachine, archives: Path, s3: S3Server, refusing: S3Server
) -> None:
    bucket = here.lake.removeprefix("s3://").partition("/")[0]
    here.run("parse", archives)
    s3.allow_reads_only(bucket)
    there.run("status")
    (message,) = there.run("filter", code=1).messages
    assert "refuses access to the lake `s3://" in message
    (message,) = there.run("parse", archives, "--group", "other", code=1).messages
    assert "status 403" in message
    assert here.run("status").json["groups"]
    refusing.refuse_everything()
    (message,) = there.run("status", code=1).messages
    assert "there are no valid credentials for the lake `s3://" in message


@pytest.mark.full
def test_a_server_that_is_down_and_a_missing_bucket_are_named(
    here: LakeMachine, archives: Path, s3: S3Server, tmp_path: Path
) -> None:
    down = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    (message,) = here.run("parse", archives, code=1, **down).messages
    assert "did not answer: check the network and the endpoint" in message
    (message,) = here.run("status", code=1, **down).messages
    missing = LakeMachine(s3, "s3://no-such-bucket/x", tmp_path / "missing")
    for command in (("parse", archives), ("status",), ("filter",)):
        (message,) = missing.run(*command, code=2).messages
        assert "the bucket of the lake `s3://no-such-bucket/x` does not exist" in message


def test_a_half_copied_lake_is_refused_with_what_is_missing(
    here: LakeMachine, there: LakeMachine, archives: Path, s3: S3Server
) -> None:
    bucket, _, prefix = here.lake.removeprefix("s3://").partition("/")
    here.run("parse", archives)
    s3.objects(bucket).delete(f"{prefix}/redaction.key")
    (message,) = there.run("parse", archives, code=1).messages
    assert f"no redaction key `{here.lake}/redaction.key`" in message


@pytest.mark.full
def test_a_damaged_object_is_named_by_its_url_and_created_again(
    here: LakeMachine, there: LakeMachine, archives: Path, s3: S3Server
) -> None:
    here.run("parse", archives)
    copies = here.home / "cache" / "turnetl-objects" / here.lake.replace("://", "/")
    table = max((copies / "turns").rglob("*.parquet"), key=lambda path: path.stat().st_size)
    bucket, _, prefix = here.lake.removeprefix("s3://").partition("/")
    name = f"{prefix}/{table.relative_to(copies).as_posix()}"
    damaged = bytearray(table.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    s3.objects(bucket).put(name, bytes(damaged))
    result = there.run("filter")
    assert f"`s3://{bucket}/{name}` is damaged; it is created again" in result.stderr
    assert here.run("filter").json


@pytest.mark.full
def test_machines_pay_once_for_a_response_and_forget_it_together(
    here: LakeMachine, there: LakeMachine, provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "archives" / "one.jsonl", turns=2)
    for machine in (here, there):
        machine.environment.update(model_environment(provider))
    here.run("backfill", tmp_path / "archives")
    paid = len(provider.requests)
    assert paid
    # The graph of the other machine is another one: it extracts the same turns.
    there.run("ingest")
    assert len(provider.requests) == paid
    usage = there.run("runs").json["runs"][0]
    assert usage["state"] == "done"
    bucket, _, prefix = here.lake.removeprefix("s3://").partition("/")
    assert here.responses(bucket, prefix) > 0
    report = here.run("forget", "--session", "s1-1", "--yes").json
    assert report["proven"]
    assert here.responses(bucket, prefix) == 0


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [("status", "--lake", "s3://bucket/lake"), ("parse", "s3://bucket/archives", "--lake", "lake")],
    ids=["lake", "archives"],
)
def test_ctrl_c_ends_a_command_whose_store_does_not_answer(
    command: Sequence[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        environment = clean_environment(tmp_path) | S3Server(port).environment
        with subprocess.Popen(
            command_line(*command), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in errors

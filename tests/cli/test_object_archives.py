"""Archives in a bucket on a real S3 server, as the commands use them."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.servers.s3_server import S3Server

CANARY = os.urandom(16).hex()
"""A secret key that no output may hold."""


class Uploads:
    """The sample archives of one project in a bucket, and a lake in a folder."""

    def __init__(self, s3: S3Server, folder: Path) -> None:
        self.bucket = s3.new_bucket()
        self.url = f"s3://{self.bucket}/team/claude"
        self.objects = s3.objects(self.bucket)
        self.folder = folder
        self.lake: Path | str = folder / "lake"
        self.environment = s3.environment | {"AWS_SECRET_ACCESS_KEY": CANARY}
        self.local = Path(shutil.copytree(SAMPLES / "bookshop", folder / "archives"))
        self.names = [path.relative_to(self.local).as_posix() for path in self.files()]
        for path, name in zip(self.files(), self.names, strict=True):
            self.objects.put(f"team/claude/{name}", path.read_bytes())

    def files(self) -> list[Path]:
        return sorted(path for path in self.local.rglob("*") if path.is_file())

    def run(self, *arguments: str | Path, code: int = 0, **environment: str) -> CommandResult:
        named = (*arguments, "--lake", self.lake, "--json")
        result = run_in_process(*named, folder=self.folder, **self.environment | environment)
        assert result.exit_code == code, result.stderr
        assert CANARY not in result.stdout + result.stderr
        return result


@pytest.fixture
def uploads(s3: S3Server, tmp_path: Path) -> Uploads:
    return Uploads(s3, tmp_path)


@pytest.mark.full
def test_a_fact_leads_back_to_the_object_and_its_lines(uploads: Uploads) -> None:
    uploads.run("backfill", uploads.url)
    (hit, *_) = uploads.run("search", "integer cents").json["hits"]
    assert hit["archive"].startswith(f"{uploads.url}/")
    name = hit["archive"].removeprefix(f"{uploads.url}/")
    shown = uploads.run("show", hit["turn_id"], "--raw", "--unredacted").json
    lines = (uploads.local / name).read_text().splitlines()
    first = shown["first_line"]
    assert shown["lines"] == lines[first - 1 : first - 1 + len(shown["lines"])]
    uploads.objects.delete(f"team/claude/{name}")
    (message,) = uploads.run("show", hit["turn_id"], "--raw", code=1).messages
    assert message == f"turnetl: `{hit['archive']}` does not exist; check the URL."
    (group,) = uploads.run("status").json["groups"]
    assert group["missing_archives"] == [hit["archive"]]


@pytest.mark.full
def test_the_status_says_that_a_store_does_not_answer(uploads: Uploads) -> None:
    uploads.run("backfill", uploads.url)
    result = uploads.run("status", AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert "archives in object stores are not looked for" in result.stderr
    assert not result.json["groups"][0]["missing_archives"]


@pytest.mark.full
def test_shards_and_a_plan_read_the_archives_of_a_bucket(uploads: Uploads) -> None:
    found = [uploads.run("parse", uploads.url, "--shard", f"{one}/2").json for one in (1, 2)]
    assert sum(one["archives"]["new"] for one in found) == len(uploads.names)
    again = uploads.run("parse", uploads.url, "--jobs", "2").json
    assert again["archives"]["unchanged"] == len(uploads.names)
    uploads.run("filter")
    plan = uploads.run("plan", f"{uploads.url}/**").json
    assert plan["parsed"]["archives"]["unchanged"] == len(uploads.names)


@pytest.mark.full
def test_archives_and_lake_are_in_one_bucket(uploads: Uploads, tmp_path: Path) -> None:
    uploads.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    uploads.lake = f"s3://{uploads.bucket}/lake"
    report = uploads.run("backfill", uploads.url, "--jobs", "2").json
    assert report["parsed"]["archives"]["new"] == len(uploads.names)
    again = uploads.run("parse", uploads.url).json
    assert again["archives"]["unchanged"] == len(uploads.names)
    copies = [path for path in (tmp_path / "cache").rglob("*") if path.suffix == ".jsonl"]
    assert not copies


def test_a_damaged_table_is_created_again_from_the_object(uploads: Uploads) -> None:
    uploads.run("parse", uploads.url)
    table = max(
        Path(uploads.lake, "turns").rglob("*.parquet"), key=lambda path: path.stat().st_size
    )
    content = bytearray(table.read_bytes())
    content[len(content) // 3] ^= 1
    table.write_bytes(content)
    result = uploads.run("filter")
    assert f"is damaged; it is created again from `{uploads.url}/" in result.stderr


def test_a_bucket_and_a_folder_are_read_by_one_command(uploads: Uploads) -> None:
    report = uploads.run("parse", uploads.url, uploads.local, "s3://no-such-bucket/x", code=1).json
    assert report["archives"]["new"] == 2 * len(uploads.names)
    (problem,) = report["problems"]
    assert problem["reason"] == "missing"


@pytest.mark.full
def test_a_store_that_does_not_answer_ends_the_command(uploads: Uploads) -> None:
    down = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    (message,) = uploads.run("parse", uploads.url, code=1, **down).messages
    assert "the object store of the archives in `s3://" in message
    assert "did not answer: check the network and the endpoint" in message


@pytest.mark.full
def test_the_lines_of_a_turn_are_shown_with_the_url(uploads: Uploads) -> None:
    uploads.run("backfill", uploads.url)
    result = run_in_process(
        "search",
        "integer cents",
        "--verbose",
        "--lake",
        uploads.lake,
        folder=uploads.folder,
        **uploads.environment,
    )
    assert f"{uploads.url}/" in result.stdout

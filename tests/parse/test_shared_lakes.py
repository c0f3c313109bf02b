"""Machines that parse into one lake in a bucket at the same time."""

from pathlib import Path

import pytest

from tests.fakes.redactors import CallbackRedactor
from tests.lake import object_lakes
from tests.lake.object_lakes import lake_of, machine
from tests.parse.parse_runs import one_turn, run
from tests.servers.s3_server import S3Server
from turnetl.lake import Lake
from turnetl.parsing.report import Outcome


@pytest.fixture
def lakes(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Lake, Lake]:
    url = object_lakes.new_url(s3, monkeypatch)
    return lake_of(machine(url, tmp_path / "a")), lake_of(machine(url, tmp_path / "b"))


def prompts(lake: Lake) -> list[str]:
    return sorted(turn.user_text for group in lake.groups() for turn in lake.turns(group))


def test_no_turn_is_lost_that_another_machine_wrote_meanwhile(
    lakes: tuple[Lake, Lake], tmp_path: Path
) -> None:
    here, there = lakes
    archive = tmp_path / "s1.jsonl"
    archive.write_text(one_turn("first", "p1"))
    run(here, archive)
    races = iter(["second"])

    def write_meanwhile() -> None:
        for prompt in races:
            own = archive.read_text()
            archive.write_text(one_turn("first", "p1") + one_turn(prompt, "p2"))
            run(here, archive)
            archive.write_text(own)

    archive.write_text(one_turn("third", "p3"))
    report = run(there, archive, redactor=CallbackRedactor(write_meanwhile))
    assert report.archives[0].outcome is Outcome.CHANGED
    assert prompts(there) == prompts(here) == ["first", "second", "third"]

"""Machines that share a bucket: each has its own copies of the objects."""

from pathlib import Path

import pytest

from tests.servers.s3_server import S3Server
from turnetl.base.object_url import ObjectUrl
from turnetl.lake import Lake
from turnetl.lake.object_files import ObjectFiles


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def new_url(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> ObjectUrl:
    """Return the URL of an empty lake; this process finds the server by its environment."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return ObjectUrl("s3", s3.new_bucket(), "team/lake one")


def machine(url: ObjectUrl, folder: Path, clock: Clock | None = None) -> ObjectFiles:
    """Return the files of a lake as a machine with its copies in a folder sees them."""
    return ObjectFiles(url, folder / "turnetl-objects", clock or Clock(), allow_http=True)


def lake_of(files: ObjectFiles) -> Lake:
    return Lake(files.root, files)

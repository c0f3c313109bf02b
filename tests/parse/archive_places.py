"""Places of archives, a folder and a bucket, with what a test does to the files in them."""

import os
from pathlib import Path
from typing import Protocol

from tests.servers.s3_server import S3Server
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles, RoutedArchives
from turnetl.parsing.object_archives import ObjectArchives


class ArchivePlace(Protocol):
    """Where archives are."""

    @property
    def root(self) -> Path:
        """The path of the folder, or that of the URL of the prefix."""

    @property
    def given(self) -> str:
        """The folder or the URL, as a user names it."""

    def files(self) -> ArchiveFiles:
        """Return the files as a new process sees them."""

    def put(self, name: str, content: bytes) -> None: ...

    def delete(self, name: str) -> None: ...


class Folder:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root, self.given = root, str(root)
        root.mkdir(parents=True)

    def files(self) -> ArchiveFiles:
        return LOCAL

    def put(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def delete(self, name: str) -> None:
        os.remove(self.root / name)  # noqa: PTH107 - a folder too must fail


class Bucket:
    """A prefix of a bucket on a real S3 server; this process finds it by its environment."""

    def __init__(self, s3: S3Server) -> None:
        self.s3, self.name = s3, s3.new_bucket()
        self.given = f"s3://{self.name}/logs ü/x"
        self.root = Path(self.given)
        self.objects = s3.objects(self.name)

    def files(self) -> ArchiveFiles:
        return RoutedArchives(LOCAL, ObjectArchives(["s3"]))

    def put(self, name: str, content: bytes) -> None:
        self.objects.put(self.key(name), content)

    def delete(self, name: str) -> None:
        self.objects.delete(self.key(name))

    def key(self, name: str) -> str:
        return f"logs ü/x/{name}"

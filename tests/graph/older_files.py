"""Graph files of older releases of Ladybug, written by turnetl with them, and kept compressed.

To write them again, into `tests/graph/older`, with releases that pip can install:

python -m tests.graph.older_files FOLDER 0.17.1 0.19.1 0.20.4 0.21.2
"""

import asyncio
import io
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.graph.open import open_graph

FOLDER = Path(__file__).with_name("older")
VERSIONS = {"0.17.1": 41, "0.19.1": 43, "0.20.4": 47, "0.21.2": 47}
"""The storage version of the files of each release."""


def extract(release: str, kind: str, folder: Path) -> Path:
    """Extract the file that a release `closed`, or left with its log when it was `killed`."""
    with tarfile.open(FOLDER / f"{release}-{kind}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "graph.lbug"


def install(release: str, folder: Path) -> Path:
    """Install a release from the package index, and return its folder.

    Raises:
        subprocess.CalledProcessError: it cannot be installed.
    """
    target = folder / release
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, f"ladybug=={release}"]
    subprocess.run(command, check=True, capture_output=True)
    return target


def write_with(release: Path, kind: str, path: Path) -> None:
    """Write a graph with the release in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(release)}  # noqa: TID251 - of a program
    command = [sys.executable, "-m", "tests.graph.older_files", str(path), kind]
    ended = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr


async def write(path: Path, *, is_killed: bool) -> None:
    """Commit three turns; the last two are only in the log if the process is killed then."""
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    first, *others = history()
    await store.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    await store.close()
    store = await open_graph(f"ladybug://{path}", user="", password="")
    for change in others:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    if is_killed:
        os.kill(os.getpid(), signal.SIGKILL)
    await store.close()


def _keep(release: str, kind: str, path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=9) as archive:
        for file in (path, path.with_name(f"{path.name}.wal")):
            if file.exists():
                archive.add(file, file.name, filter=_without_owner)
    (FOLDER / f"{release}-{kind}.tar.xz").write_bytes(buffer.getvalue())


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    return entry.replace(mtime=0, mode=0o600, uid=0, gid=0, uname="", gname="", deep=False)


def main() -> None:
    if sys.argv[2] in ("closed", "killed"):
        asyncio.run(write(Path(sys.argv[1]), is_killed=sys.argv[2] == "killed"))
        return
    for release in sys.argv[2:]:
        installed = install(release, Path(sys.argv[1]))
        for kind in ("closed", "killed"):
            path = Path(sys.argv[1]) / f"{release}-{kind}" / "graph.lbug"
            path.parent.mkdir()
            write_with(installed, kind, path)
            _keep(release, kind, path)


if __name__ == "__main__":
    main()

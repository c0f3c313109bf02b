"""A git repository for tests of `turnetl why`."""

import subprocess
from pathlib import Path

from tests.cli.command import clean_environment


class Repository:
    """A repository of one file, whose commits have the times given."""

    def __init__(self, folder: Path, name: str = "bookshop") -> None:
        self.folder = folder / name
        self.file = self.folder / f"src/{name}/cart.py"
        self.file.parent.mkdir(parents=True)
        self.git("init", "--quiet")

    def commit(self, content: str, at: str) -> None:
        self.file.write_text(content)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "Cart", GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at)

    def git(self, *arguments: str, **environment: str) -> str:
        """Run git in the repository; return its standard output."""
        identity = ("-c", "user.name=dev", "-c", "user.email=dev@example.org")
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.folder,
            check=True,
            env=clean_environment(self.folder) | environment,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

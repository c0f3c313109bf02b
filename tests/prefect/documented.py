"""The commands that docs/prefect.md shows. The tests run these, so that the page stays true."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "prefect.md").read_text(encoding="utf-8")


def _commands() -> Iterator[list[str]]:
    """Yield the program and arguments of each command of Prefect, in the order of the page."""
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            if program == "prefect" or arguments[:1] == ["prefect"]:
                yield [program, *arguments]


SERVER, SETUP, DEPLOY, WORKER, _RUN = _commands()


def run_of(archive: str) -> list[str]:
    """Return the documented run of the deployment, of another archive."""
    given = {"archives": json.dumps([archive])}
    return [
        f"{name}={given[name]}" if equals and name in given else argument
        for argument in _RUN
        for name, equals, _ in [argument.partition("=")]
    ]

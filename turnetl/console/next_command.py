"""A command to run next, as it can be typed in the working directory."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnetl.base.object_url import without_credentials


def next_command(
    program: Path, directory: Path, words: Sequence[str], options: Mapping[str, Path | str | None]
) -> str:
    """Return a command with the options that select the same lake and graph.

    Args:
        program: the path of this process's program; `__main__.py` was run with `python -m`.
        words: the name of the command, and its arguments.
        options: `--lake`, `--graph`, `--config` as they were given; None if they were not.
    """
    arguments = [*_program(program, directory), *words]
    for name, value in options.items():
        if value is not None:
            arguments += [name, without_credentials(str(value))]
    return shlex.join(arguments)


def _program(program: Path, directory: Path) -> list[str]:
    if program.name == "__main__.py":
        return ["python", "-m", "turnetl"]
    installed = shutil.which("turnetl")
    if installed is not None and Path(installed).resolve() == program.resolve():
        return ["turnetl"]
    path = program.absolute()
    return [str(path.relative_to(directory) if path.is_relative_to(directory) else path)]

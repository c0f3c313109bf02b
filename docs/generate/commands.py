"""The reference of all commands, docs/commands.md."""

import re

from turnetl.cli import app

_HEAD = """# Commands

Every command with its arguments and options, as `--help` shows them; [usage](usage.md) says how to
work with them. This page is generated: `make docs`.
"""


def reference() -> str:
    """Return the page: a section for each command, below the list of all of them."""
    page = app.generate_docs(flatten_commands=True, include_hidden=True)
    commands = "# turnetl " + page.partition("\n\n# turnetl ")[2]
    # The usage repeats the heading, with what started this process.
    sections = re.sub(r"^```console\n.*\n```$", "", commands, flags=re.MULTILINE)
    lines = "\n".join(line.rstrip() for line in sections.splitlines())
    deeper = re.sub(r"^# ", "## ", lines, flags=re.MULTILINE)
    return _HEAD + "\n" + re.sub(r"\n{3,}", "\n\n", deeper).strip() + "\n"

"""A folder whose texts and names are all hostile to a terminal, and what must not be printed."""

import re
from pathlib import Path

from tests.cli.archives import conversation, tool_call, tool_result, write_archive
from tests.cli.command import CommandResult
from tests.cli.test_assumed_time import MARCH

TITLE = "\x1b]0;owned\x07"
LINK = "\x1b]8;;https://example.org\x1b\\click\x1b]8;;\x1b\\"
HOSTILE = f"{TITLE}{LINK}\x1b[2J\x9b31m\u0085\u202egpj.\u2066exe\u2069\x7f\r\x08\U000e0041 [red]"
NAME = "a\x1b]0;owned\x07\x9b2J\u202egpj\nturnetl: all is well"
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\U000e0000-\U000e007f]"
)
"""Everything that a terminal may obey but tab and newline."""


def write_hostile_archives(home: Path) -> None:
    """Write archives, readable, damaged and unknown ones, with hostile texts and names."""
    rows = [
        *conversation(f"Add `cart.py` {HOSTILE}", "We decided to use sqlite", at=MARCH),
        tool_call("c1", f"Bash{HOSTILE}", MARCH, command=f"pytest {HOSTILE}"),
        tool_result("r1", "c1", f"KeyError: {HOSTILE}", MARCH),
        tool_call("c2", "Edit", MARCH, file_path=f"/home/dev/shop/{NAME}.py", new_string=HOSTILE),
        tool_result("r2", "c2", HOSTILE, MARCH),
    ]
    renamed = [
        row.replace("/home/dev/shop", "/home/dev/sh\\u001b]0;x\\u0007\\u202ep") for row in rows
    ]
    write_archive(home / f"f{NAME}" / f"{NAME}.jsonl", [*rows, *renamed, f"not JSON {HOSTILE}"])
    write_archive(home / f"f{NAME}" / f"bad {NAME}.jsonl", [f"nothing {HOSTILE}"])
    (home / f"f{NAME}" / f"{NAME}.jsonl.gz").write_bytes(b"\x1f\x8b damaged")


def assert_clean(result: CommandResult) -> None:
    assert FORBIDDEN.findall(result.stdout) == []
    assert FORBIDDEN.findall(result.stderr) == []
    if "Traceback" not in result.stderr:
        # A line that the name of a file contains does not look like a message.
        assert "\nturnetl: all is well" not in result.stderr


def assert_clean_terminal(text: str) -> None:
    """Check what a terminal got: its own sequences, of styles and bars, and no others."""
    own = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b\[[0-9;]*m|\r")
    assert FORBIDDEN.findall(own.sub("", text)) == []

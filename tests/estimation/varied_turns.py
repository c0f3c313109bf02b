"""Turns of different lengths, of which the canned model finds different numbers of facts."""

from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.cli.provider_setup import SESSION_START


def write_turns(path: Path, turns: int, project: str = "shop") -> Path:
    """Write turns of very different lengths, each in a session of its own."""
    rows = []
    for number in range(turns):
        statements = "".join(
            f"`{project}{number}_{fact}.py` uses `sqlite`. " for fact in range(number % 5)
        )
        text = f"Look again, please. {statements}{'The page is slow. ' * (number**2 % 113)}"
        native, at = f"{project}-{number}", SESSION_START.replace(hour=number % 24)
        rows += [
            row.replace("/home/dev/shop", f"/home/dev/{project}")
            for row in conversation(text, session=native, at=at.replace(day=3 + number // 24))
        ]
    return write_archive(path, rows)

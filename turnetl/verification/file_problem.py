"""A file that is not as it was written, with what to do."""

from dataclasses import dataclass
from pathlib import Path

from turnetl.verification.check import Check


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is not as it was written."""

    check: Check
    path: Path
    name: str
    """Its path or URL, for a message."""
    problem: str
    """What is wrong, as the end of a sentence that begins with the name."""
    remedy: str = ""
    """What to do, if it is not that of the check."""
    is_kept: bool = False
    """Whether `--fix` gives it another name, so that nothing uses it."""
    archive: str | None = None
    """The archive that it is made from and that still exists: `--fix` parses it again."""

    @property
    def sentence(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"`{self.name}` {self.problem}{remedy}"

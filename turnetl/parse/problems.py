"""Why an archive, or a part of it, was passed over: one word to count under, and one sentence."""

from pathlib import Path

from turnetl.errors import BadArchive
from turnetl.formats.base import Format, ParseCounts
from turnetl.lake import path_text
from turnetl.parse.compression import Ending
from turnetl.parse.report import ArchiveReport, Outcome, Problem

_LEFT_ALONE = ("unknown", "empty", "format")
"""Reasons for which no turn is lost: agents leave empty files, and a run need not fail for them."""


def refused(path: Path, error: BadArchive) -> ArchiveReport:
    """Return what to say of an archive that gave nothing; what it gave before is kept."""
    outcome = Outcome.UNKNOWN if error.reason in _LEFT_ALONE else Outcome.UNREADABLE
    problem = Problem(path_text(path), None, error.reason, str(error))
    return ArchiveReport(path_text(path), outcome, problem=problem)


def unreadable(path: Path, error: OSError) -> BadArchive:
    name = path_text(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return BadArchive("missing", f"`{name}` does not exist; check the path.")
    if isinstance(error, IsADirectoryError):
        return BadArchive("folder", f"`{name}` is a folder; name the archives in it.")
    why = error.strerror or str(error)
    remedy = "check its permissions" if isinstance(error, PermissionError) else "check its disk"
    return BadArchive("unreadable", f"`{name}` cannot be read ({why}); {remedy}.")


def no_file(path: Path) -> BadArchive:
    said = f"`{path_text(path)}` is neither a file nor a folder; name an archive."
    return BadArchive("unreadable", said)


def unknown(path: Path, data: bytes) -> BadArchive:
    name = path_text(path)
    if not data.strip():
        return BadArchive("empty", f"`{name}` is empty; there is nothing to read.")
    return BadArchive(
        "unknown",
        f"`{name}` is in no format that turnetl knows and was left alone; "
        "name only coding-agent archives to be rid of this line.",
    )


def not_that(path: Path, named: Format, looks_like: Format | None) -> BadArchive:
    """Return why a named format is not taken: what was read before would be lost for nothing."""
    remedy = "leave it out, or name another with --format"
    if looks_like is not None:
        remedy = f"it looks like `{looks_like.name}`: name that with --format"
    said = (
        f"`{path_text(path)}` holds nothing that `{named.name}` reads and was left alone; {remedy}."
    )
    return BadArchive("format", said)


def too_large(path: Path, most: int) -> BadArchive:
    said = (
        f"`{path_text(path)}` unpacks to more than {most / (1 << 20):,.0f} MiB and was left alone; "
        "if you trust it, unpack it and name what comes out."
    )
    return BadArchive("too_large", said)


def too_much(path: Path) -> BadArchive:
    name = path_text(path)
    said = f"`{name}` needs more memory than there is; run again with --jobs 1 or with more."
    return BadArchive("no_memory", said)


def killed(path: Path) -> BadArchive:
    name = path_text(path)
    said = (
        f"`{name}` was not read: the process that read it was killed, as a rule for want of "
        "memory; run again with --jobs 1 or with more."
    )
    return BadArchive("killed", said)


def not_foreseen(path: Path, error: Exception) -> BadArchive:
    said = (
        f"`{path_text(path)}` was not read ({type(error).__name__}, not foreseen); "
        "please report it, the other archives were read."
    )
    return BadArchive("failed", said)


def incomplete(path: Path, ending: Ending, size: int) -> Problem | None:
    """Return what to say of an archive of which `size` bytes could be unpacked."""
    name = path_text(path)
    if ending is Ending.UNFINISHED:
        said = f"`{name}` is cut off behind {size:,} unpacked bytes; what is missing is read later."
    elif ending is Ending.BROKEN:
        said = f"`{name}` is damaged behind {size:,} unpacked bytes; copy it anew to read the rest."
    else:
        return None
    return Problem(name, None, ending.value, said)


def invalid_lines(path: Path, counts: ParseCounts, *, whole: bool) -> Problem | None:
    """Return what to say of lines that are no JSON; `whole`: the last one has its newline."""
    broken = counts.invalid_lines - counts.concatenated_lines
    if not broken:
        return None
    name, line = path_text(path), counts.first_invalid_line
    if line == counts.lines and not whole:
        message = f"`{name}` line {line} is unfinished; it is read once it is whole."
        return Problem(name, line, "unfinished", message)
    more = f" and {broken - 1} more" if broken > 1 else ""
    message = (
        f"`{name}` line {line}{more}: not JSON and passed over; the other lines were read. "
        "Mend the line and run again if you need what it held."
    )
    return Problem(name, line, "broken", message)

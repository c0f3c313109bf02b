"""Problems with archives: a `SkipReason` to count under, and a sentence for the user."""

from pathlib import Path

from turnetl.base.damaged_copies import copy_name
from turnetl.base.errors import TRACEBACK, BadArchive
from turnetl.base.object_url import path_text
from turnetl.base.reason import SkipReason
from turnetl.formats import Format
from turnetl.formats.kit.counts import MAX_ROWS, ParseCounts
from turnetl.lake import ArchiveMetadata
from turnetl.parsing.compression import DecompressionStatus
from turnetl.parsing.parse_report import ArchiveReport, Outcome, Problem
from turnetl.parsing.walk import other_content

_UNKNOWN = (SkipReason.UNKNOWN_FORMAT, SkipReason.EMPTY, SkipReason.WRONG_FORMAT)
"""Reasons that lose no turn: agents leave empty files, and these must not fail a run."""


def bad_archive(path: Path, reason: SkipReason, what: str) -> BadArchive:
    """Return an error; `what` ends the sentence that starts with the path."""
    return BadArchive(reason, f"`{path_text(path)}` {what}.")


def skipped_report(path: Path, error: BadArchive) -> ArchiveReport:
    """Return the report on an archive that yields no turn; its previous turns file is kept."""
    outcome = Outcome.UNKNOWN if error.reason in _UNKNOWN else Outcome.UNREADABLE
    problem = Problem(path_text(path), None, error.reason, str(error))
    return ArchiveReport(path_text(path), outcome, problem=problem)


def unreadable(path: Path, error: OSError) -> BadArchive:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return bad_archive(path, SkipReason.MISSING, "does not exist; check the path")
    if isinstance(error, IsADirectoryError):
        return bad_archive(path, SkipReason.FOLDER, "is a folder; name the archives in it")
    cause = error.strerror or str(error)
    remedy = "check its permissions" if isinstance(error, PermissionError) else "check the disk"
    return bad_archive(path, SkipReason.UNREADABLE, f"cannot be read ({cause}); {remedy}")


def not_a_file(path: Path) -> BadArchive:
    what = "is neither a file nor a folder; name an archive"
    return bad_archive(path, SkipReason.NOT_A_FILE, what)


def unknown_format(path: Path, data: bytes) -> BadArchive:
    if not data.strip():
        return bad_archive(path, SkipReason.EMPTY, "is empty; it holds no turns")
    what = (
        "is in no format that turnetl knows and was skipped; name only archives of coding agents "
        "to avoid this message"
    )
    if (known := other_content(path.name, data)) is not None:
        what = f"is {known}"
    return bad_archive(path, SkipReason.UNKNOWN_FORMAT, what)


def wrong_format(path: Path, explicit: Format, detected: Format | None) -> BadArchive:
    """Return why the format that the user named is not used: the turns parsed before stay."""
    remedy = "omit the archive, or name another format with --format"
    if detected is not None:
        remedy = f"it looks like `{detected.name}`: name that with --format"
    what = f"holds nothing in the format `{explicit.name}` and was skipped; {remedy}"
    return bad_archive(path, SkipReason.WRONG_FORMAT, what)


def too_large(path: Path, max_bytes: int) -> BadArchive:
    what = (
        f"decompresses to more than {max_bytes / (1 << 20):,.0f} MiB and was skipped; if you trust "
        "it, decompress it and name the result"
    )
    return bad_archive(path, SkipReason.TOO_LARGE, what)


def too_many_rows(path: Path) -> BadArchive:
    what = (
        f"has more than {MAX_ROWS:,} turns or messages and was skipped; split it into several "
        "archives"
    )
    return bad_archive(path, SkipReason.TOO_MANY_ROWS, what)


def out_of_memory(path: Path) -> BadArchive:
    what = "needs more memory than is available; run again with --jobs 1 or with more memory"
    return bad_archive(path, SkipReason.OUT_OF_MEMORY, what)


def worker_killed(path: Path) -> BadArchive:
    what = (
        "was not read: the process that read it was killed, most likely for lack of memory; run "
        "again with --jobs 1 or with more memory"
    )
    return bad_archive(path, SkipReason.WORKER_KILLED, what)


def unexpected_error(path: Path, error: Exception) -> BadArchive:
    what = (
        f"was not read (unexpected {type(error).__name__}); please report it with its traceback, "
        f"{TRACEBACK}; the other archives were read"
    )
    return bad_archive(path, SkipReason.UNEXPECTED_ERROR, what)


def damaged_table(path: Path, now: ArchiveMetadata, before: ArchiveMetadata | None) -> Problem:
    """Return the problem of a damaged turns file that may hold turns which the archive lost.

    `now` is the metadata of the file that replaces it, `before` its own; None: it is unreadable.
    """
    lost = "turns"
    if before is not None and before.retained_turns:
        lost = f"{before.retained_turns:,} turns, and possibly others,"
    message = (
        f"the turns file of `{now.archive}` was damaged and is made again, without the {lost} that "
        f"it may have held and the archive no longer holds; it is kept as "
        f"`{path_text(copy_name(path))}`: restore it from a copy of the lake if you need them."
    )
    return Problem(path_text(path), None, SkipReason.DAMAGED_TABLE, message)


_CUT_SHORT = {
    DecompressionStatus.TRUNCATED: (
        SkipReason.TRUNCATED,
        "is truncated after {:,} decompressed bytes; a later run reads the rest once it is written",
    ),
    DecompressionStatus.WINDOW_EXCEEDED: (
        SkipReason.TOO_LARGE,
        (
            "needs a zstd window of more than 128 MiB after {:,} decompressed bytes; if you trust "
            "it, decompress it and name the result"
        ),
    ),
    DecompressionStatus.CORRUPT: (
        SkipReason.CORRUPT,
        "is corrupt after {:,} decompressed bytes; copy it again to read the rest",
    ),
}


def decompression_problem(path: Path, status: DecompressionStatus, size: int) -> Problem | None:
    if status not in _CUT_SHORT:
        return None
    reason, what = _CUT_SHORT[status]
    name = path_text(path)
    return Problem(name, None, reason, f"`{name}` {what.format(size)}.")


def line_problem(path: Path, counts: ParseCounts, *, ends_with_newline: bool) -> Problem | None:
    invalid = counts.invalid_lines - counts.concatenated_lines
    if not invalid:
        return None
    name, line = path_text(path), counts.first_invalid_line
    if large := counts.skipped[SkipReason.TOO_MANY_VALUES]:
        return _values_problem(name, line, invalid, large)
    if line == counts.lines and not ends_with_newline:
        message = f"`{name}` line {line} is incomplete; a later run reads it once it is complete."
        return Problem(name, line, SkipReason.TRUNCATED, message)
    more = f" and {invalid - 1} more" if invalid > 1 else ""
    message = (
        f"`{name}` line {line}{more}: skipped but for complete rows, because it is not valid "
        "JSON; the other lines were read. Repair the line and run again if you need its content."
    )
    return Problem(name, line, SkipReason.INVALID_JSON, message)


def _values_problem(name: str, line: int | None, invalid: int, large: int) -> Problem:
    more = f" and {invalid - 1} more" if invalid > 1 else ""
    cause = "it has too many JSON values"
    if invalid > large:
        cause = f"{large} of them have too many JSON values, and the others are not valid JSON"
    message = (
        f"`{name}` line {line}{more}: skipped, because {cause}; the other lines were read. Remove "
        "arrays of numbers or of empty values from the line and run again if you need its content."
    )
    return Problem(name, line, SkipReason.TOO_MANY_VALUES, message)

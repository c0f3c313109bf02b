"""Check regular expressions that the user wrote, in Rust syntax.

Their matching time is linear in the text and in the pattern, whose expanded size is limited here.
"""

import re

MAX_CHARS = 1000
"""Maximum characters of a pattern."""
_SAFETY_FACTOR = 8
"""A pattern must fit this often into the engine's 10 MB: larger ones take minutes."""
_TOO_LARGE = (
    "is too large after its repetitions are expanded; repeat less often, or use narrower character"
    r" classes ([a-z0-9] instead of \w)"
)


def regex_error(pattern: str) -> str | None:
    """Return what is wrong with a pattern and how to correct it, or None if it is valid."""
    if not pattern:
        return "is empty; write what it must match"
    if len(pattern) > MAX_CHARS:
        return f"has more than {MAX_CHARS:,} characters; split it into several patterns"
    error = _compile_error(pattern)
    if error is None:
        # The line break ends a comment at the end of the pattern.
        repeated = _compile_error(f"(?:{pattern}\n){{{_SAFETY_FACTOR}}}")
        error = repeated if repeated == _TOO_LARGE else None
    if error is None or error == _TOO_LARGE:
        return error
    return f"does not compile: {error}; patterns use Rust syntax, without look-around"


def _compile_error(pattern: str) -> str | None:
    import polars as pl  # noqa: PLC0415 - settings without patterns need it not

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        message = str(error)
        if "size limit" in message:
            return _TOO_LARGE
        reason = re.search(r"^error: (.+)$", message, re.MULTILINE)
        return reason[1].strip() if reason else message.splitlines()[0]
    return None

"""Regular expressions that a person wrote: are they sound?

They are Rust's, as polars has them: their time grows with the text and with the pattern, and never
beyond. Bounded here is how large a pattern is once its repetitions are written out.
"""

import re

import polars as pl

LONGEST = 1000
"""Characters of a pattern."""
_TIMES = 8
"""The engine compiles up to ten megabytes, and a pattern must fit into them so many times: a larger
one takes minutes over a long text."""
_TOO_LARGE = (
    "is too large once its repetitions are written out; repeat less often, or narrower letters"
    r" ([a-z0-9] instead of \w)"
)


def regex_error(pattern: str) -> str | None:
    """Say what is wrong with a pattern, and what to do; None if nothing is."""
    if not pattern:
        return "is empty; say what it shall match"
    if len(pattern) > LONGEST:
        return f"has more than {LONGEST:,} characters; make several of it"
    why = _refusal(pattern)
    if why is None:
        # The line break ends a comment that the pattern may end with.
        again = _refusal(f"(?:{pattern}\n){{{_TIMES}}}")
        why = again if again == _TOO_LARGE else None
    if why is None or why == _TOO_LARGE:
        return why
    return f"does not compile: {why}; patterns are Rust's regular expressions, without look-around"


def _refusal(pattern: str) -> str | None:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        said = str(error)
        if "size limit" in said:
            return _TOO_LARGE
        found = re.search(r"^error: (.+)$", said, re.MULTILINE)
        return found[1].strip() if found else said.splitlines()[0]
    return None

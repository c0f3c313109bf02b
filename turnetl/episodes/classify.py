"""Classify turns by their main content, so that each is read with matching instructions.

The first kind that applies wins, in the order of `kinds.KINDS`:

- error_heavy: at least 2 calls failed, and a fifth of all calls; or every call failed; or the user
  pasted a stack trace; or the prompt mentions a failure and the response does so at least twice.
- code_heavy: at least 3 calls changed files, and a fifth of all calls; or prompt and response
  contain 3 blocks of code or 1,500 characters of code, and these are a third of their text.
- tool_heavy: at least 10 calls.
- conversational: at most 1 call.
- ordinary: all other turns.
"""

import polars as pl

from turnetl.episodes import tool_calls
from turnetl.episodes.filters import CODE_HEAVY, CONVERSATIONAL, ERROR_HEAVY, ORDINARY, TOOL_HEAVY

_MIN_FAILED, _MIN_EDITS, _MANY_CALLS, _FEW_CALLS = 2, 3, 10, 1
"""Numbers of calls."""
_MIN_BLOCKS, _MIN_CODE_CHARS = 3, 1500
"""Blocks of code in prompt and response, and characters of these blocks."""
_PROMPT_CHARS, _TEXT_CHARS = 1000, 20_000
"""Characters of a prompt that are searched for failure words (a long plan mentions everything);
characters of prompt and of response that are searched for everything else."""

_FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_TRACE = (
    r"Traceback \(most recent call last\)|(?m:^[ \t]+at [\w.$<>]+ ?\()"
    r"|(?m:^thread '.*' panicked at)|(?m:^goroutine \d+ \[)"
)
_FAILURE = (
    r"(?i-u:\b(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|throws?|bugs?"
    r"|broken?|traceback|doesn'?t work|not working)\b)"
)
_FAILED_OUTPUT = (
    r"Traceback \(most recent call last\)|(?i-u:exit(?:ed with)? code:? [1-9])|(?-u:\bFAILED\b)"
    r"|(?-u:\b[1-9][0-9]* failed\b)"
)

_NAME, _RESULT = (pl.element().struct.field(name) for name in ("name", "result"))
_IS_FAILED = pl.element().struct.field("is_error") | (
    _NAME.str.contains(tool_calls.RUN_TOOLS) & _RESULT.str.contains(_FAILED_OUTPUT)
)
_IS_EDIT = _NAME.str.contains(tool_calls.EDIT_TOOLS)
_TOOL_CALLS = pl.col("tool_calls")
_CALLS = _TOOL_CALLS.list.len()
_FAILED = _TOOL_CALLS.list.eval(_IS_FAILED.cast(pl.UInt32)).list.sum()
_EDITED = _TOOL_CALLS.list.eval(_IS_EDIT.cast(pl.UInt32)).list.sum()
_TEXT = (
    pl.col("user_text").str.head(_TEXT_CHARS)
    + "\n"
    + pl.col("assistant_text").str.head(_TEXT_CHARS)
)
_BLOCKS = _TEXT.str.count_matches(_FENCED)
_PROSE_CHARS = _TEXT.str.replace_all(_FENCED, "").str.len_chars()
_CODE_CHARS = _TEXT.str.len_chars() - _PROSE_CHARS

# A fifth of all calls, rounded up; `_CALLS` occurs once, since polars evaluates it at each use.
_FIFTH = (_CALLS + 4) // 5
_FAILED_THRESHOLD = pl.when(_CALLS == 1).then(1).otherwise(pl.max_horizontal(_FIFTH, _MIN_FAILED))
_ABOUT_FAILURE = pl.col("user_text").str.head(_PROMPT_CHARS).str.contains(_FAILURE) & (
    pl.col("assistant_text").str.head(_TEXT_CHARS).str.count_matches(_FAILURE) > 1
)
_MANY_ERRORS = (
    (_FAILED >= _FAILED_THRESHOLD) | pl.col("user_text").str.contains(_TRACE) | _ABOUT_FAILURE
)
_MANY_EDITS = _EDITED.ge(pl.max_horizontal(_FIFTH, _MIN_EDITS))
_MUCH_CODE = ((_BLOCKS >= _MIN_BLOCKS) | (_CODE_CHARS >= _MIN_CODE_CHARS)) & (
    2 * _CODE_CHARS >= _PROSE_CHARS
)

TURN_KIND = (
    pl.when(_MANY_ERRORS)
    .then(pl.lit(ERROR_HEAVY))
    .when(_MANY_EDITS | _MUCH_CODE)
    .then(pl.lit(CODE_HEAVY))
    .when(_CALLS >= _MANY_CALLS)
    .then(pl.lit(TOOL_HEAVY))
    .when(_CALLS <= _FEW_CALLS)
    .then(pl.lit(CONVERSATIONAL))
    .otherwise(pl.lit(ORDINARY))
)
"""One of `KINDS`, from the columns of `schema.TURNS`."""

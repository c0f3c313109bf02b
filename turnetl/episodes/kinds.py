"""What a turn is mostly made of, so that it can be read with the instructions that fit it.

The first that holds counts, in the order of `KINDS`:

- error_heavy: at least 2 calls failed, and a fifth of all; or all that was done failed; or the
  person showed a stack trace.
- code_heavy: at least 3 calls changed files, and a fifth of all; or at least 3 blocks of code (or
  one of 1,500 characters) stand in what was said, and make up a third of it.
- tool_heavy: at least 10 calls.
- conversational: at most 1 call, and something was said.
- ordinary: all others.
"""

import polars as pl

from turnetl.episodes import tools

ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY = "error_heavy", "code_heavy", "tool_heavy"
CONVERSATIONAL, ORDINARY = "conversational", "ordinary"
KINDS = (ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY, CONVERSATIONAL, ORDINARY)
VERSION = 1
"""Goes up with every change of what comes out."""

_FAILED, _EDITED, _CALLS, _TALK = 2, 3, 10, 1
"""Calls."""
_SHARE = 5
"""One call in so many."""
_BLOCKS, _CODE = 3, 1500
"""Blocks of code; characters of them."""
_FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_TRACE = (
    r"Traceback \(most recent call last\)|(?m)^\s+at [\w.$<>]+ ?\(|^thread '.*' panicked at"
    r"|^goroutine \d+ \["
)

_call = pl.element().struct
_calls = pl.col("tools").list.len()
_failed = pl.col("tools").list.eval(_call.field("is_error").cast(pl.UInt32)).list.sum()
_edited = (
    pl.col("tools")
    .list.eval(_call.field("name").str.contains(tools.EDITS).cast(pl.UInt32))
    .list.sum()
)
_said = pl.col("user_text") + "\n" + pl.col("assistant_text")
_blocks = _said.str.count_matches(_FENCED)
_code = _said.str.len_chars() - _said.str.replace_all(_FENCED, "").str.len_chars()

_errors = (
    ((_failed >= _FAILED) & (_failed * _SHARE >= _calls))
    | ((_failed > 0) & (_failed == _calls))
    | pl.col("user_text").str.contains(_TRACE)
)
_much_code = ((_edited >= _EDITED) & (_edited * _SHARE >= _calls)) | (
    ((_blocks >= _BLOCKS) | (_code >= _CODE)) & (_code * 3 >= _said.str.len_chars())
)

KIND = (
    pl.when(_errors)
    .then(pl.lit(ERROR_HEAVY))
    .when(_much_code)
    .then(pl.lit(CODE_HEAVY))
    .when(_calls >= _CALLS)
    .then(pl.lit(TOOL_HEAVY))
    .when(_calls <= _TALK)
    .then(pl.lit(CONVERSATIONAL))
    .otherwise(pl.lit(ORDINARY))
)
"""Of the columns of `schema.TURNS`."""

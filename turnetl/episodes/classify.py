"""What a turn is mostly made of, so that it can be read with the instructions that fit it.

The first that holds counts, in the order of `KINDS`:

- error_heavy: at least 2 calls failed, and a fifth of all; or all that was done failed; or the
  person showed a stack trace; or the person spoke of a failure, and the answer did so twice.
- code_heavy: at least 3 calls changed files, and a fifth of all; or 3 blocks of code, or 1,500
  characters of such, stand in what was said and are a third of it.
- tool_heavy: at least 10 calls.
- conversational: at most 1 call.
- ordinary: all others.
"""

import polars as pl

from turnetl.episodes import tool_roles

ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY = "error_heavy", "code_heavy", "tool_heavy"
CONVERSATIONAL, ORDINARY = "conversational", "ordinary"
KINDS = (ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY, CONVERSATIONAL, ORDINARY)
VERSION = 1
"""Goes up with every change of what comes out."""

_FEW_FAILED, _FEW_EDITS, _MANY_CALLS, _TALK = 2, 3, 10, 1
"""Calls."""
_BLOCKS, _CODE = 3, 1500
"""Blocks of code in what was said; characters of them."""
_ASKED, _READ = 1000, 20_000
"""Characters of a prompt in which words of failure are looked for: a long plan speaks of all and
sundry. Characters of prompt and answer that are looked at for the rest."""

_FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_TRACE = (
    r"Traceback \(most recent call last\)|(?m:^[ \t]+at [\w.$<>]+ ?\()"
    r"|(?m:^thread '.*' panicked at)|(?m:^goroutine \d+ \[)"
)
_FAILURE = (
    r"(?i-u:\b(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|throws?|bugs?"
    r"|broken?|traceback|doesn'?t work|not working)\b)"
)
_BROKE = (
    r"Traceback \(most recent call last\)|(?i-u:exit(?:ed with)? code:? [1-9])|(?-u:\bFAILED\b)"
    r"|(?-u:\b[1-9][0-9]* failed\b)"
)

_NAME, _OUTCOME = (pl.element().struct.field(name) for name in ("name", "result"))
_BROKEN = pl.element().struct.field("is_error") | (
    _NAME.str.contains(tool_roles.RUN_TOOLS) & _OUTCOME.str.contains(_BROKE)
)
_CALLS = pl.col("tool_calls").list.len()
_FAILED = pl.col("tool_calls").list.eval(_BROKEN.cast(pl.UInt32)).list.sum()
_EDITED = (
    pl.col("tool_calls")
    .list.eval(_NAME.str.contains(tool_roles.EDIT_TOOLS).cast(pl.UInt32))
    .list.sum()
)
_SAID = pl.col("user_text").str.head(_READ) + "\n" + pl.col("assistant_text").str.head(_READ)
_FENCES = _SAID.str.count_matches(_FENCED)
_OUTSIDE = _SAID.str.replace_all(_FENCED, "").str.len_chars()
_INSIDE = _SAID.str.len_chars() - _OUTSIDE

# A fifth of all calls. What an expression uses twice, it works out twice.
_FIFTH = (_CALLS + 4) // 5
_NEEDED = pl.when(_CALLS == 1).then(1).otherwise(pl.max_horizontal(_FIFTH, _FEW_FAILED))
_ASKED_ABOUT_FAILURE = pl.col("user_text").str.head(_ASKED).str.contains(_FAILURE) & (
    pl.col("assistant_text").str.head(_READ).str.count_matches(_FAILURE) > 1
)
_ERRORS = (_FAILED >= _NEEDED) | pl.col("user_text").str.contains(_TRACE) | _ASKED_ABOUT_FAILURE
_EDITS = _EDITED.ge(pl.max_horizontal(_FIFTH, _FEW_EDITS))
_MUCH_CODE = ((_FENCES >= _BLOCKS) | (_INSIDE >= _CODE)) & (2 * _INSIDE >= _OUTSIDE)

TURN_KIND = (
    pl.when(_ERRORS)
    .then(pl.lit(ERROR_HEAVY))
    .when(_EDITS | _MUCH_CODE)
    .then(pl.lit(CODE_HEAVY))
    .when(_CALLS >= _MANY_CALLS)
    .then(pl.lit(TOOL_HEAVY))
    .when(_CALLS <= _TALK)
    .then(pl.lit(CONVERSATIONAL))
    .otherwise(pl.lit(ORDINARY))
)
"""Of the columns of `schema.TURNS`."""

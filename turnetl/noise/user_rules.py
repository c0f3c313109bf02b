r"""Read the user's own rules from a TOML file.

    [rules.release_bot]
    description = "The release bot opens a session for every tag."
    user_text = '^Release v\d+'
    git_branch = ["^release/", "^hotfix/"]

Every condition of a rule must match; of a list, one pattern is enough. The comments in
`data/rules.toml` document the format.

Evaluate the regular expressions of users' own rules.

`turnetl.base.user_files` bounds the size of a pattern; this module, how much text it searches.

The noise rules that exist, and the selection of those that are active in a run.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from turnetl.base import schema
from turnetl.base.errors import BadUsage
from turnetl.base.user_files import regex_error
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES, NoiseRule, no_activity

_MAX_BYTES = 1_000_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KEYS = ("description", "enabled", "has_activity", "not")


def read_rules(path: Path, content: bytes | None = None) -> tuple[NoiseRule, ...]:
    """Return the rules of the file, in its order; `content` is its own, if it was read before."""
    rules = _read_file(path, content).rules
    if not rules:
        raise BadUsage(f"`{path}` contains no rule; a rule begins with [rules.NAME]")
    return tuple(_rule(name, row, f"`{path}`, rule `{name}`") for name, row in rules.items())


class _RulesFile(msgspec.Struct, forbid_unknown_fields=True):
    rules: dict[str, dict[str, Any]] = {}


class _RuleKeys(msgspec.Struct):
    """The keys of a rule that are not columns."""

    description: str
    enabled: bool = True
    has_activity: bool | None = None
    """Whether anything happened in the turn besides prompt and response; None: either."""


_ColumnPatterns = dict[str, list[str]]
"""Patterns by column; the fields of tool calls are `tool_calls.name` and so on."""


def _read_file(path: Path, content: bytes | None) -> _RulesFile:
    try:
        return msgspec.convert(tomllib.loads(_text(path, content)), _RulesFile)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadUsage(f"cannot read the rules file `{path}` ({reason}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadUsage(f"`{path}` is not valid TOML: {error}; correct it") from error
    except msgspec.ValidationError as error:
        raise BadUsage(f"`{path}`: {error}; a rule begins with [rules.NAME]") from error


def _text(path: Path, content: bytes | None) -> str:
    if content is None:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise BadUsage(f"the rules file `{path}` is larger than 1 MB; name another")
    return content.decode("utf-8-sig")


def _rule(name: str, row: Mapping[str, Any], where: str) -> NoiseRule:
    _check_name(name, where)
    keys = _rule_keys(row, where)
    included = _column_patterns({key: row[key] for key in row if key not in _KEYS}, where)
    negated = row.get("not", {})
    if not isinstance(negated, dict):
        raise BadUsage(f"{where}: `not` is not a table; write not.user_text = '...'")
    excluded = _column_patterns(negated, f"{where}, `not`")
    if not included and not excluded and keys.has_activity is None:
        raise BadUsage(f"{where} would mark every turn; add a column and the pattern it must match")
    definition = json.dumps([VERSION, keys.has_activity, included, excluded], sort_keys=True)
    condition = _condition(keys.has_activity, included, excluded)
    return NoiseRule(name, 1, keys.description, condition, keys.enabled, definition)


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadUsage(
            f"{where}: a name consists of lowercase letters, digits and underscores, begins with a"
            " letter, and has at most 40 characters; rename the rule"
        )
    if name in {rule.name for rule in all_rules()}:
        raise BadUsage(f"{where}: a built-in rule has this name; choose another")


def _rule_keys(row: Mapping[str, Any], where: str) -> _RuleKeys:
    try:
        keys = msgspec.convert(row, _RuleKeys)
    except msgspec.ValidationError as error:
        raise BadUsage(
            f"{where}: {error}; a rule has `description`, and columns with patterns"
        ) from error
    if not keys.description.strip():
        raise BadUsage(
            f"{where}: `description` is empty; describe in one sentence why these turns are noise"
        )
    return keys


def _column_patterns(row: Mapping[str, Any], where: str) -> _ColumnPatterns:
    calls = row.get("tool_calls", {})
    if not isinstance(calls, dict):
        raise BadUsage(f"{where}: `tool_calls` has fields; write {_quoted(_call_columns())}")
    flat = {name: row[name] for name in row if name != "tool_calls"}
    flat |= {f"tool_calls.{field}": calls[field] for field in calls}
    searchable = (*searchable_columns(), *_call_columns())
    unknown = [name for name in flat if name not in searchable]
    if unknown:
        raise BadUsage(
            f"{where}: `{unknown[0]}` is not a searchable column; use one of {_quoted(searchable)},"
            f" or one of the keys {_quoted(_KEYS)}"
        )
    return {name: _patterns(flat[name], f"{where}, `{name}`") for name in flat}


def _patterns(value: Any, where: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(pattern, str) for pattern in listed):
        raise BadUsage(f"{where}: a pattern must be a string or a list of strings, in quotes")
    if not listed:
        raise BadUsage(f"{where} has no pattern; add one that the column must match")
    for pattern in listed:
        wrong = regex_error(pattern)
        if wrong is not None:
            raise BadUsage(f"{where}: the pattern `{pattern[:80]}` {wrong}")
    return listed


def _condition(
    has_activity: bool | None, included: _ColumnPatterns, excluded: _ColumnPatterns
) -> pl.Expr:
    """Return the condition of the rule.

    Patterns for tool calls must match one and the same call; each excluded column counts alone.
    """
    terms = [pattern_matches(name, included[name]) for name in included if not _is_call(name)]
    calls = {_call_field(name): included[name] for name in included if _is_call(name)}
    terms += [matches_call(calls)] if calls else []
    terms += [~_matches(name, excluded[name]) for name in excluded]
    terms += [no_activity ^ has_activity] if has_activity is not None else []
    return reduce(and_, terms)


def _matches(name: str, searched: Sequence[str]) -> pl.Expr:
    if _is_call(name):
        return matches_call({_call_field(name): searched})
    return pattern_matches(name, searched)


def _is_call(name: str) -> bool:
    return name.startswith("tool_calls.")


def _call_field(name: str) -> str:
    return name.removeprefix("tool_calls.")


def _call_columns() -> tuple[str, ...]:
    return tuple(f"tool_calls.{field}" for field in CALL_FIELDS)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


VERSION = 1
"""Version of everything that decides where a given pattern matches."""

SEARCHED_CHARS = 20_000
"""Characters of a text, from its start, that are searched: enough for a rule, and few enough that a
deliberately slow pattern takes seconds."""
CALL_FIELDS = ("name", "input", "result")
"""The fields of `tool_calls` that a rule can search."""


def searchable_columns() -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that patterns can search, without `tool_calls`."""
    searchable = (pl.String, schema.TEXTS)
    return tuple(column.name for column in schema.TURN_COLUMNS if column.dtype in searchable)


def pattern_matches(column: str, patterns: Sequence[str]) -> pl.Expr:
    """Return whether one of the patterns matches the column, or a text of its list."""
    if schema.TURNS.polars[column] == schema.TEXTS:
        return pl.col(column).list.eval(_matches_any(pl.element(), patterns)).list.any()
    return _matches_any(pl.col(column), patterns)


def matches_call(patterns: Mapping[str, Sequence[str]]) -> pl.Expr:
    """Return whether a single call matches: for each field given, one of its patterns."""
    fields = [_matches_any(pl.element().struct.field(name), patterns[name]) for name in patterns]
    return pl.col("tool_calls").list.eval(pl.all_horizontal(fields)).list.any()


def _matches_any(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    searched = text.str.head(SEARCHED_CHARS)
    matched = [searched.str.contains(pattern) for pattern in patterns]
    return pl.any_horizontal(matched).fill_null(value=False)


def all_rules(user_rules: Sequence[NoiseRule] = ()) -> tuple[NoiseRule, ...]:
    """Return all rules, active or not, by precedence: built-in rules come first."""
    return (*RULES, *ON_DEMAND, *user_rules, EMPTY)


def find_rule(name: str, user_rules: Sequence[NoiseRule] = ()) -> NoiseRule:
    rules = {rule.name: rule for rule in all_rules(user_rules)}
    if name not in rules:
        raise BadUsage(f"unknown noise rule `{name}`; choose one of: {', '.join(rules)}")
    return rules[name]


def select_rules(
    disable: Sequence[str] = (), enable: Sequence[str] = (), user_rules: Sequence[NoiseRule] = ()
) -> tuple[NoiseRule, ...]:
    """Return the active rules by precedence, without `EMPTY`, which is always active.

    Args:
        disable: names of rules to disable: the turns that they would mark are kept.
        enable: names of rules to enable that are disabled by default.
    """
    for name in (*disable, *enable):
        find_rule(name, user_rules)
    in_both = [name for name in disable if name in enable]
    if in_both:
        raise BadUsage(
            f"noise rule `{in_both[0]}` cannot be both disabled and enabled; name it once"
        )
    if EMPTY.name in disable:
        raise BadUsage(
            f"noise rule `{EMPTY.name}` cannot be disabled: its turns have no text to ingest;"
            " remove it from the rules to disable"
        )
    active = [
        rule for rule in all_rules(user_rules) if rule.enabled_by_default or rule.name in enable
    ]
    return tuple(rule for rule in active if rule.name not in disable and rule is not EMPTY)

r"""A person's own rules, from a TOML file.

    [rules.release_bot]
    why = "The release bot opens a session for every tag."
    user_text = '^Release v\d+'
    git_branch = ["^release/", "^hotfix/"]

All that stands in a rule must hold, of each list one pattern. `data/rules.toml` explains the rest.
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

from turnetl.errors import BadUsage
from turnetl.noise import features, patterns
from turnetl.noise.registry import all_rules
from turnetl.noise.rule import NoiseRule
from turnetl.regex_check import regex_error

_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KEYS = ("why", "on", "worked", "not")


def read_rules(path: Path) -> tuple[NoiseRule, ...]:
    """Return the rules of the file, in its order.

    Raises:
        BadUsage: the file cannot be read or a rule makes no sense; says which and why.
    """
    rules = _file(path).rules
    if not rules:
        raise BadUsage(f"`{path}` has no rule; one begins with [rules.NAME]")
    return tuple(_rule(name, said, f"`{path}`, rule `{name}`") for name, said in rules.items())


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rules: dict[str, dict[str, Any]] = {}


class _Said(msgspec.Struct):
    """What a rule says beside its columns. `worked`: whether anything was done in the turn."""

    why: str
    on: bool = True
    worked: bool | None = None


_Columns = dict[str, list[str]]
"""The patterns of each column named; of a call's parts as `tool_calls.name` and so on."""


def _file(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(_text(path)), _File)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadUsage(f"the rules file `{path}` cannot be read ({why}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadUsage(f"`{path}` is no TOML: {error}; mend it") from error
    except msgspec.ValidationError as error:
        raise BadUsage(f"`{path}`: {error}; rules begin with [rules.NAME]") from error


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise BadUsage(f"the rules file `{path}` is larger than a megabyte; name another")
    return content.decode("utf-8-sig")


def _rule(name: str, row: Mapping[str, Any], where: str) -> NoiseRule:
    _check_name(name, where)
    said = _said(row, where)
    named = _columns({key: row[key] for key in row if key not in _KEYS}, where)
    without = row.get("not", {})
    if not isinstance(without, dict):
        raise BadUsage(f"{where}: `not` is no table; write not.user_text = '...'")
    barred = _columns(without, f"{where}, `not`")
    if not named and not barred and said.worked is None:
        raise BadUsage(f"{where} would mark every turn; name a column and what it shall match")
    definition = json.dumps([patterns.VERSION, said.worked, named, barred], sort_keys=True)
    return NoiseRule(name, 1, said.why, _when(said.worked, named, barred), said.on, definition)


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadUsage(f"{where}: a name is small letters, digits and underscores, 40 at most")
    if name in {rule.name for rule in all_rules()}:
        raise BadUsage(f"{where}: turnetl has a rule of this name; choose another")


def _said(row: Mapping[str, Any], where: str) -> _Said:
    try:
        said = msgspec.convert(row, _Said)
    except msgspec.ValidationError as error:
        raise BadUsage(f"{where}: {error}; a rule has `why`, and columns with patterns") from error
    if not said.why.strip():
        raise BadUsage(f"{where}: `why` is empty; say in a sentence why these turns are noise")
    return said


def _columns(row: Mapping[str, Any], where: str) -> _Columns:
    calls = row.get("tool_calls", {})
    if not isinstance(calls, dict):
        raise BadUsage(f"{where}: `tool_calls` has parts; write {_listed(_calls())}")
    flat = {name: row[name] for name in row if name != "tool_calls"}
    flat |= {f"tool_calls.{part}": calls[part] for part in calls}
    known = (*patterns.searchable_columns(), *_calls())
    unknown = [name for name in flat if name not in known]
    if unknown:
        raise BadUsage(
            f"{where}: no column `{unknown[0]}` can be searched; there are {_listed(known)}, and"
            f" the keys {_listed(_KEYS)}"
        )
    return {name: _patterns(flat[name], f"{where}, `{name}`") for name in flat}


def _patterns(said: Any, where: str) -> list[str]:
    several = [said] if isinstance(said, str) else said
    if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
        raise BadUsage(f"{where}: what is to match is a text or a list of texts; put it in quotes")
    if not several:
        raise BadUsage(f"{where} has no pattern; say what it shall match")
    for pattern in several:
        wrong = regex_error(pattern)
        if wrong is not None:
            raise BadUsage(f"{where}: the pattern `{pattern[:80]}` {wrong}")
    return several


def _when(worked: bool | None, named: _Columns, barred: _Columns) -> pl.Expr:
    """Return what holds of a turn that the rule marks; what is barred is so each by itself."""
    holds = [patterns.matches(name, named[name]) for name in named if not _is_call(name)]
    calls = {_part(name): named[name] for name in named if _is_call(name)}
    holds += [patterns.matches_call(calls)] if calls else []
    holds += [~_one(name, barred[name]) for name in barred]
    holds += [features.idle ^ worked] if worked is not None else []
    return reduce(and_, holds).fill_null(value=False)


def _one(name: str, searched: Sequence[str]) -> pl.Expr:
    if _is_call(name):
        return patterns.matches_call({_part(name): searched})
    return patterns.matches(name, searched)


def _is_call(name: str) -> bool:
    return name.startswith("tool_calls.")


def _part(name: str) -> str:
    return name.removeprefix("tool_calls.")


def _calls() -> tuple[str, ...]:
    return tuple(f"tool_calls.{part}" for part in patterns.CALL_FIELDS)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)

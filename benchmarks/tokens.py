"""Tokens by model, UTC day and column: a naive count beside that of the tables.

    python -m benchmarks.tokens FOLDER

The naive count decodes every JSON value of every file and knows only ids of messages and responses:
no turn, no format and no reader. Of what has the same id the greatest value of each field counts,
on the day of its first row. Nothing of turnetl's readers is used.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from turnetl import pipeline
from turnetl.activity_report.turns import read_lake
from turnetl.activity_report.usage import subagent_rows, used_messages
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.lake import Lake
from turnetl.settings import Settings

Sums = dict[tuple[str, str], tuple[int, ...]]
"""Input, cache write, cache read, output and reasoning, by model and day."""


def naive(folder: Path) -> Sums:
    """Count the tokens in all files of a folder."""
    messages: dict[object, dict[str, Any]] = {}
    for path in sorted(path for path in folder.rglob("*.json*") if path.is_file()):
        for key, one in _messages(path):
            known = messages.setdefault(key, one)
            known["model"] = known["model"] or one["model"]
            known["day"] = min(filter(None, (known["day"], one["day"])), default="")
            known["raw"] = {
                name: max(_count(known["raw"].get(name)), _count(one["raw"].get(name)))
                for name in {**known["raw"], **one["raw"]}
            }
    sums: Sums = {}
    for one in messages.values():
        place = one["model"] or "unknown", one["day"]
        before = sums.get(place, (0,) * len(TOKEN_COUNTS))
        sums[place] = tuple(map(sum, zip(before, _split(one["raw"]), strict=True)))
    return {place: counts for place, counts in sums.items() if any(counts)}


def of_tables(folder: Path, lake: Path) -> Sums:
    """Count the tokens that the report counts.

    Args:
        folder: with archives.
        lake: a folder for a new lake.
    """
    settings = Settings(lake=lake, jobs=1)
    pipeline.parse_archives([str(folder)], settings)
    pipeline.filter_turns(settings)
    tables = Lake(lake)
    turns = read_lake(tables, tables.groups(), (), lambda *_: None)
    found = used_messages(turns, subagent_rows(tables.turn_files()))
    sums = found.group_by("model", "day").agg(pl.col(*TOKEN_COUNTS).sum())
    return {
        (row["model"] or "unknown", str(row["day"] or "")): counts
        for row in sums.iter_rows(named=True)
        if any(counts := tuple(row[name] or 0 for name in TOKEN_COUNTS))
    }


def _messages(path: Path) -> Iterator[tuple[object, dict[str, Any]]]:
    state: dict[str, Any] = {"session": str(path)}
    for number, value in enumerate(_values(path.read_text("utf-8", "replace"))):
        for at, found in enumerate(_objects(value)):
            yield from _of_anthropic(found, (path, number, at))
            yield from _of_gemini(found, state)
            yield from _of_opencode(found, (path, number, at))
            yield from _of_pi(found, (path, number, at))
            yield from _of_amp(found, (path, number, at))
        if isinstance(value, dict):
            yield from _of_codex(value, state)


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a document, or of each line."""
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.split("\n"):
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all objects in a value, outer ones first."""
    if isinstance(value, dict):
        yield value
    inside = value if isinstance(value, list) else []
    for inner in value.values() if isinstance(value, dict) else inside:
        yield from _objects(inner)


def _of_anthropic(row: Mapping[str, Any], place: object) -> Iterator[tuple[object, dict[str, Any]]]:
    message = row.get("message")
    if row.get("type") != "assistant" or not isinstance(message, dict):
        return
    usage = message.get("usage")
    if not isinstance(usage, dict) or message.get("model") == "<synthetic>":
        return
    nested = usage.get("cache_creation") or {}
    written = sum(map(_count, nested.values())) if isinstance(nested, dict) else 0
    raw = {
        "input": usage.get("input_tokens"),
        "write": max(_count(usage.get("cache_creation_input_tokens")), written),
        "read": usage.get("cache_read_input_tokens"),
        "output": usage.get("output_tokens"),
    }
    key = message.get("id") or row.get("uuid") or place
    yield key, _message(message.get("model"), row.get("timestamp"), raw)


def _of_codex(
    row: Mapping[str, Any], state: dict[str, Any]
) -> Iterator[tuple[object, dict[str, Any]]]:
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return
    if row.get("type") == "turn_context":
        state["model"] = payload.get("model") or state.get("model")
    if row.get("type") == "session_meta":
        state["session"] = payload.get("id") or state["session"]
    records: list[Any] = state.setdefault("records", [])
    if row.get("type") == "token_usage_record":
        usage, key = (
            payload["usage"],
            payload.get("response_id") or (state["session"], row.get("timestamp")),
        )
        records.append((usage.get("input_tokens"), usage.get("output_tokens")))
    elif payload.get("type") == "token_count" and payload.get("info"):
        usage = payload["info"]["last_token_usage"]
        total = payload["info"].get("total_token_usage")
        key = (state["session"], json.dumps(total, sort_keys=True))
        if (usage.get("input_tokens"), usage.get("output_tokens")) in records:
            return
    else:
        return
    raw = {
        "prompt": usage.get("input_tokens"),
        "write": usage.get("cache_write_input_tokens"),
        "read": usage.get("cached_input_tokens"),
        "output": usage.get("output_tokens"),
        "reasoning": usage.get("reasoning_output_tokens"),
    }
    yield key, _message(state.get("model"), row.get("timestamp"), raw)


def _of_gemini(
    row: Mapping[str, Any], state: dict[str, Any]
) -> Iterator[tuple[object, dict[str, Any]]]:
    state["session"] = row.get("sessionId") or state["session"]
    tokens = row.get("tokens")
    if not isinstance(tokens, dict) or "cached" not in tokens:
        return
    raw = {
        "prompt": tokens.get("input"),
        "read": tokens.get("cached"),
        "tool": tokens.get("tool"),
        "answer": tokens.get("output"),
        "reasoning": tokens.get("thoughts"),
    }
    yield (state["session"], row.get("id")), _message(row.get("model"), row.get("timestamp"), raw)


def _of_opencode(row: Mapping[str, Any], place: object) -> Iterator[tuple[object, dict[str, Any]]]:
    tokens, time = row.get("tokens"), row.get("time")
    if not isinstance(tokens, dict) or not isinstance(tokens.get("cache"), dict):
        return
    if not isinstance(time, dict):
        return
    raw = {
        "input": tokens.get("input"),
        "write": tokens["cache"].get("write"),
        "read": tokens["cache"].get("read"),
        "answer": tokens.get("output"),
        "reasoning": tokens.get("reasoning"),
    }
    created = datetime.fromtimestamp((time.get("created") or 0) / 1000, UTC).isoformat()
    yield row.get("id") or place, _message(row.get("modelID"), created, raw)


def _of_pi(row: Mapping[str, Any], place: object) -> Iterator[tuple[object, dict[str, Any]]]:
    message = row.get("message")
    if row.get("type") != "message" or not isinstance(message, dict):
        return
    usage = message.get("usage")
    if message.get("role") == "assistant" and isinstance(usage, dict):
        raw = _raw(usage, "input", "cacheWrite", "cacheRead", "output")
        yield place, _message(message.get("model"), row.get("timestamp"), raw)


def _of_amp(row: Mapping[str, Any], place: object) -> Iterator[tuple[object, dict[str, Any]]]:
    usage = row.get("usage")
    if row.get("role") == "assistant" and isinstance(usage, dict) and "inputTokens" in usage:
        cached = ("cacheCreationInputTokens", "cacheReadInputTokens")
        raw = _raw(usage, "inputTokens", *cached, "outputTokens")
        yield place, _message(usage.get("model"), usage.get("timestamp"), raw)


def _raw(usage: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return input, cache write, cache read and output, which have these names."""
    return dict(zip(("input", "write", "read", "output"), map(usage.get, names), strict=True))


def _message(model: Any, time: Any, raw: dict[str, Any]) -> dict[str, Any]:
    day = ""
    if isinstance(time, str) and time[:2] == "20":
        day = datetime.fromisoformat(time).astimezone(UTC).date().isoformat()
    return {"model": model or "", "day": day, "raw": raw}


def _split(raw: Mapping[str, Any]) -> tuple[int, ...]:
    counts = {name: _count(value) for name, value in raw.items()}
    write, read = counts.get("write", 0), counts.get("read", 0)
    reasoning = counts.get("reasoning", 0)
    fresh = counts.get("input", max(counts.get("prompt", 0) - write - read, 0))
    output = counts.get("output", counts.get("answer", 0) + reasoning)
    return fresh + counts.get("tool", 0), write, read, output, reasoning


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return number if isinstance(number, int) and 0 < number < 2**40 else 0


def main() -> int:
    """Print both counts and their difference; return 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as lake:
        expected, found = naive(folder), of_tables(folder, Path(lake))
    nothing = (0,) * len(TOKEN_COUNTS)
    print("model", "day", *TOKEN_COUNTS, sep="\t")
    for place in sorted({*expected, *found}):
        pair = expected.get(place, nothing), found.get(place, nothing)
        print(*place, *pair[0], "" if pair[0] == pair[1] else f"tables: {pair[1]}", sep="\t")
    for name, sums in (("naive", expected), ("tables", found)):
        print(name, "", *map(sum, zip(nothing, *sums.values(), strict=True)), sep="\t")
    return int(expected != found)


if __name__ == "__main__":
    sys.exit(main())

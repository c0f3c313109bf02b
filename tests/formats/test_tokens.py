"""Tokens in forms that archives have by damage, by age or by accident."""

import json
from collections.abc import Mapping
from operator import itemgetter

from tests.formats.usage import tokens
from turnetl import formats
from turnetl.formats.port import ParsedArchive

TIME = "2026-03-02T09:00:0{}.000Z"


def read(*rows: Mapping[str, object]) -> ParsedArchive:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = formats.sniff(data)
    assert found is not None
    return found.read(data)


def claude(kind: str, number: int, content: object = "Go.", **message: object) -> dict[str, object]:
    ids = {"sessionId": "s1", "uuid": f"u{number}", "timestamp": TIME.format(number)}
    return {"type": kind, **ids, "message": {"role": kind, "content": content} | message}


def codex(number: int, kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": TIME.format(number), "type": kind, "payload": payload}


def count(number: int, last: object, total: object) -> dict[str, object]:
    info = {"last_token_usage": last, "total_token_usage": total}
    return codex(number, "event_msg", type="token_count", info=info)


def usage(read: int, cached: int, written: int) -> dict[str, int]:
    return {"input_tokens": read, "cached_input_tokens": cached, "output_tokens": written}


CODEX = (
    codex(0, "session_meta", id="019cade0-1f00-7abc-8000-000000000001", cwd="/srv/shop"),
    codex(0, "turn_context", model="gpt-6"),
    codex(1, "event_msg", type="user_message", message="Go."),
)


def test_a_count_that_is_no_count_is_missing_and_the_others_are_kept() -> None:
    values: tuple[object, ...] = (None, -1, 10**30, "many", [], {}, 2**40, 12.5, -1.0, 1e30, True)
    for damaged in values:
        used = {"input_tokens": damaged, "cache_read_input_tokens": "7", "output_tokens": 3}
        [turn] = read(claude("user", 1), claude("assistant", 2, id="m1", usage=used)).turns
        assert tokens(turn) == [(0, None, 7, 3, None)]


def test_a_whole_count_that_is_written_as_a_float_counts() -> None:
    used = {"input_tokens": 12.0, "cache_read_input_tokens": 1e3, "output_tokens": 3}
    [turn] = read(claude("user", 1), claude("assistant", 2, id="m1", usage=used)).turns
    assert tokens(turn) == [(12, None, 1000, 3, None)]
    reported = {"input_tokens": 1e3, "cached_input_tokens": 800.0, "output_tokens": 50.0}
    [turn] = read(*CODEX, count(2, reported, reported)).turns
    assert tokens(turn) == [(200, None, 800, 50, None)]


def test_a_repeated_row_and_one_without_content_have_greater_counts() -> None:
    first = claude("assistant", 2, id="m1", usage={"output_tokens": 1})
    again = claude("assistant", 2, id="m1", usage={"output_tokens": 9})
    bare = claude("assistant", 3, None, id="m1", usage={"input_tokens": 4})
    [turn] = read(claude("user", 1), first, again, bare).turns
    assert tokens(turn) == [(4, None, None, 9, None)]


def test_the_messages_of_a_turn_have_their_own_models_and_days() -> None:
    late = claude("assistant", 3, id="m2", model="haiku", usage={"output_tokens": 2})
    late["timestamp"] = "2026-03-03T01:00:00+02:00"
    after = claude("assistant", 4, id="m3", model="opus", usage={"output_tokens": 2})
    after["timestamp"] = "2026-03-03T00:00:00Z"
    [turn] = read(claude("user", 1), late, after).turns
    found = [(one.model, one.time and one.time.day) for one in turn.usage.values()]
    assert found == [("haiku", 2), ("opus", 3)]


def test_a_record_and_the_count_of_the_same_request_count_once_in_either_order() -> None:
    used = usage(1000, 800, 50)
    record = codex(2, "token_usage_record", usage=used, response_id="r1")
    for rows in ((record, count(3, used, used)), (count(2, used, used), record)):
        [turn] = read(*CODEX, *rows).turns
        assert tokens(turn) == [(200, None, 800, 50, None)]


def test_requests_of_the_same_size_count_once_each_whether_record_or_count_is_first() -> None:
    used = usage(1000, 800, 50)
    counts = [count(2, used, used), count(3, used, usage(2000, 1600, 100))]
    records = [codex(4, "token_usage_record", usage=used, response_id=name) for name in "ab"]
    for rows in ([*counts, *records], [*records, *counts]):
        [turn] = read(*CODEX, *rows).turns
        assert tokens(turn) == [(200, None, 800, 50, None)] * 2


def test_a_response_that_is_recorded_twice_counts_once_and_compaction_too() -> None:
    used, compaction = usage(1000, 800, 50), usage(5000, 0, 300)
    record = codex(2, "token_usage_record", usage=used, response_id="r1")
    compacted = codex(3, "token_usage_record", usage=compaction, response_id="r2")
    [turn] = read(*CODEX, record, compacted, record, count(4, used, used)).turns
    assert tokens(turn) == [(200, None, 800, 50, None), (5000, None, 0, 300, None)]


def test_a_count_without_the_last_request_is_what_the_session_used_since_the_one_before() -> None:
    rows = (count(2, None, usage(100, 40, 5)), count(3, None, usage(250, 90, 6)))
    [turn] = read(*CODEX, *rows).turns
    assert tokens(turn) == [(60, None, 40, 5, None), (100, None, 50, 1, None)]


STEP = usage(100, 40, 5)
TOTALS = [usage(100 * number, 40 * number, 5 * number) for number in range(10)]
COUNTS = [count(number % 10, STEP, TOTALS[number]) for number in range(1, 7)]


def used_by(*rows: Mapping[str, object]) -> list[tuple[int, str | None]]:
    """Return the input and the model of each request of the only turn, without its cache."""
    [turn] = read(*CODEX, *rows).turns
    return [(one.tokens().input, one.model) for one in turn.usage.values()]


def test_counts_that_are_lost_are_counted_with_the_total_after_them() -> None:
    whole = used_by(*COUNTS)
    assert whole == [(60, "gpt-6")] * 6
    for first, end in ((1, 2), (1, 5), (3, 4)):
        found = used_by(*COUNTS[:first], *COUNTS[end:])
        assert sum(tokens for tokens, _ in found) == 6 * 60
        assert max(found, key=itemgetter(0)) == (max(60, (end - first) * 60), "gpt-6")
    [turn] = read(*CODEX, COUNTS[0], COUNTS[4]).turns
    assert tokens(turn) == [
        (60, None, 40, 5, None),
        (180, None, 120, 15, None),
        (60, None, 40, 5, None),
    ]


def test_lost_counts_during_which_the_model_changed_have_no_model() -> None:
    found = used_by(COUNTS[0], codex(2, "turn_context", model="gpt-7"), *COUNTS[3:])
    assert found == [(60, "gpt-6"), (120, None), *[(60, "gpt-7")] * 3]


def test_totals_that_do_not_continue_those_before_them_are_no_lost_counts() -> None:
    session = codex(3, "session_meta", id="019cade0-1f00-7abc-8000-000000000001", cwd="/srv/shop")
    record = codex(3, "token_usage_record", usage=usage(7, 0, 1), response_id="r1")
    emptied = count(3, usage(0, 0, 0), usage(0, 0, 0))
    other = count(3, STEP, usage(130, 40, 5))
    for between in (session, record, emptied, other):
        found = [tokens for tokens, _ in used_by(*COUNTS[:2], between, COUNTS[5])]
        assert [tokens for tokens in found if tokens > 10] == [60] * found.count(60)
    assert used_by(COUNTS[5]) == [(60, "gpt-6")]
    damaged = count(3, STEP, {"input_tokens": "many"} | {"output_tokens": 15})
    assert {tokens for tokens, _ in used_by(*COUNTS[:2], damaged, COUNTS[5])} == {60}


def test_a_prompt_that_is_smaller_than_its_cache_has_no_input() -> None:
    [turn] = read(*CODEX, count(2, usage(5, 800, 1), usage(5, 800, 1))).turns
    assert tokens(turn) == [(0, None, 800, 1, None)]

"""What goldens replace, and what they keep."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.goldens.plain import Json, Surroundings, given, plain, plain_text, times, with_ids

SINCE = datetime(2026, 6, 1, 12, 0, 30, tzinfo=UTC)
RUN = "32d1776a-e7f8-44e7-9d67-eafbc205daf8"
MET = Surroundings(
    folders={"/tmp/here": "<folder>", "/tmp": "<above>"},  # noqa: S108 - no folder is used
    ids={RUN: "<run 1>"},
    since=SINCE,
    until=SINCE + timedelta(minutes=2),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-01T12:01:00.25+00:00", "<time of the run>+00:00"),
        ("2026-06-01T12:01:00Z", "<time of the run>Z"),
        ("done at 2026-06-01 12:00 UTC", "done at <time of the run> UTC"),
        ("2026-06-01T11:59:00+00:00", "2026-06-01T11:59:00+00:00"),
        ("2026-06-01T12:03:00+00:00", "2026-06-01T12:03:00+00:00"),
        ("2026-06-01", "2026-06-01"),
        ("`/tmp/here/a` in `/tmp`", "`<folder>/a` in `<above>`"),
        (f"undo {RUN}", "undo <run 1>"),
        ("http://127.0.0.1:4711/?token=a-b_c", "http://127.0.0.1:<port>/?token=<token>"),
        (f"turns/shop/{'0a' * 16}.parquet", "turns/shop/<table>.parquet"),
        (f"index/{'0a' * 16}", f"index/{'0a' * 16}"),
    ],
)
def test_only_what_is_of_this_run_is_replaced_in_a_text(text: str, expected: str) -> None:
    assert plain_text(text, MET) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"seconds": 0.0, "calls": 0}, {"seconds": 0.0, "calls": 0}),
        ({"seconds": 0.0, "calls": 1}, {"seconds": "<seconds>", "calls": 1}),
        (
            {"seconds": {"low": 1, "high": 2}},
            {"seconds": {"low": "<seconds>", "high": "<seconds>"}},
        ),
        ({"seconds": None, "bytes": 12}, {"seconds": None, "bytes": "<bytes>"}),
        ({"host": "ada", "name": "ada"}, {"host": "<host>", "name": "ada"}),
        ({"user": None}, {"user": None}),
        ({"cosine": 0.9535669088363647}, {"cosine": 0.953567}),
        ([{"turns": 3, "cost": 0.5, "ok": True}], [{"turns": 3, "cost": 0.5, "ok": True}]),
    ],
)
def test_only_measured_numbers_and_names_of_the_machine_are_replaced(
    value: Json, expected: Json
) -> None:
    assert plain(value, MET) == expected


def test_ids_are_numbered_as_they_appear_and_keep_their_numbers() -> None:
    first = with_ids({}, [{"run_id": "b"}, {"run_id": "a", "migration_id": "c"}, {"run_id": None}])
    assert first == {"b": "<run 1>", "a": "<run 2>", "c": "<migration 1>"}
    assert with_ids(first, {"run_id": "d"}) == {**first, "d": "<run 3>"}
    assert with_ids(first, {"run_id": "a"}) == first


def test_a_name_in_an_argument_stands_for_what_it_replaced() -> None:
    assert given("<folder>/<run 1>", MET) == f"/tmp/here/{RUN}"  # noqa: S108 - as above


def test_times_are_found_in_any_encoding_and_alone() -> None:
    values: Json = ["2026-03-02T09:00:00Z", {"at": "<time of the run>+00:00"}, "on 2026-03-02", 1]
    assert [*times(values)] == ["2026-03-02T09:00:00Z", "<time of the run>+00:00"]
    assert [*times("2026-03-02T09:00:00Z, when it rained")] == []

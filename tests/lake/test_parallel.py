"""Calls in threads."""

import threading

import pytest

from turnetl.lake.parallel import in_parallel, interruptible


def test_results_are_in_the_order_of_the_items() -> None:
    last = threading.Event()

    def doubled(number: int) -> int:
        # The first call ends after the last one.
        if number == 0:
            last.wait(60)
        elif number == 3:
            last.set()
        return 2 * number

    assert in_parallel(doubled, range(4), 4) == [0, 2, 4, 6]
    assert in_parallel(doubled, [], 4) == []


def test_no_call_starts_after_an_error_and_those_that_run_end_first() -> None:
    started, ended = list[int](), list[int]()
    is_running = threading.Event()

    def call(number: int) -> None:
        started.append(number)
        if number == 0:
            is_running.set()
            failed.wait(60)
            ended.append(number)
        else:
            is_running.wait(60)
            failed.set()
            raise ValueError(number)

    failed = threading.Event()
    with pytest.raises(ValueError, match="1"):
        in_parallel(call, range(100), 2)
    assert ended == [0]
    assert len(started) < 100


def test_an_error_of_one_call_is_raised_where_it_is_waited_for() -> None:
    assert interruptible(lambda: 3) == 3
    with pytest.raises(KeyError):
        interruptible(dict[str, str]().popitem)

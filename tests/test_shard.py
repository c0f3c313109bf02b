"""Which shard owns a key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.base.shard import Shard

keys = st.text(max_size=20)


def owner(key: str, count: int) -> int:
    (number,) = [n for n in range(1, count + 1) if Shard(n, count).owns(key)]
    return number


@given(keys, st.integers(1, 20))
def test_every_key_has_one_owner(key: str, count: int) -> None:
    assert 1 <= owner(key, count) <= count


@given(keys, st.integers(1, 20))
def test_one_more_shard_takes_keys_and_moves_no_other(key: str, count: int) -> None:
    assert owner(key, count + 1) in (owner(key, count), count + 1)


@given(keys, st.integers(2, 20))
def test_the_owner_has_the_highest_rank(key: str, count: int) -> None:
    ranks = {Shard(number, count).rank(key): number for number in range(1, count + 1)}
    assert ranks[max(ranks)] == owner(key, count)


def test_shards_own_about_the_same_number_of_keys() -> None:
    counts = [sum(Shard(n, 4).owns(str(key)) for key in range(4000)) for n in range(1, 5)]
    assert sum(counts) == 4000
    assert min(counts) > 900


def test_the_owners_are_the_same_on_every_machine_and_in_every_version() -> None:
    assert [owner(key, 5) for key in ("shop", "kitchen", "bookshop", "ü")] == [4, 3, 1, 5]


def test_what_names_no_shard_is_refused_with_an_example(subtests: pytest.Subtests) -> None:
    for text in [
        "3/2",
        "0/2",
        "x",
        "",
        "1",
        "1/",
        "/2",
        "1/0",
        "1/2/3",
        "1.0/2",
        "-1/2",
        "1/10001",
        "\u0661/\u0662",
    ]:
        with (
            subtests.test(text=text),
            pytest.raises(BadUsage, match=r"is no shard: .* `--shard 2/8`"),
        ):
            Shard.parse(text)


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_a_shard_is_written_as_it_is_read(number: int, count: int) -> None:
    number, count = min(number, count), max(number, count)
    assert Shard.parse(str(Shard(number, count))) == Shard(number, count)

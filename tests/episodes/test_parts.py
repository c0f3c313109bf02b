from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import frames
from tests.builders import turn
from turnetl.episodes import chunking, episode_table
from turnetl.episodes.tokens import estimate

SPEAKERS = ("user: ", "assistant: ", "tools: ")
WORDS = "The cart was empty because the fixture forgot an item. "


def tokens_of(*texts: str) -> list[int]:
    return estimate(pl.Series(texts, dtype=pl.String)).to_list()


def cut(text: str, limit: int) -> list[str]:
    return list(chunking.chunks(text, limit))


def test_a_long_turn_comes_in_parts_that_fit_one_prompt_each() -> None:
    long = turn(assistant_text=(WORDS * 40 + "\n\n") * 60)
    table = episode_table(frames.turns(turn("p1"), long))
    row = table.filter(pl.col("parts").list.len() > 1).row(0, named=True)
    assert len(row["parts"]) > 3
    assert max(tokens_of(*row["parts"])) <= chunking.LIMIT
    assert "".join(row["parts"]).count(WORDS.strip()) == 40 * 60
    assert all(part.endswith(".") for part in row["parts"])


@given(
    st.lists(st.sampled_from(["word ", "x" * 50, "\n\n", "é", "a. ", "\n\nuser: "]), min_size=40)
)
def test_halves_are_two_or_three_shorter_pieces_that_lose_no_word(pieces: list[str]) -> None:
    text = "".join(pieces)
    halves = chunking.split_in_half(text)
    if text.strip():
        assert max(map(len, halves)) < len(text)
    said = "".join(halves).replace("user:", "")
    assert "".join(said.split()) == "".join(text.replace("user:", "").split())
    assert len(halves) <= 4


def test_what_goes_on_in_the_next_part_has_its_speaker_again() -> None:
    first, *others = cut("user: Why?\n\nassistant: " + "One thing. " * 60, 60)
    assert first.startswith("user: Why?")
    assert len(others) > 1
    assert all(piece.startswith("assistant: One thing.") for piece in others)


def test_a_message_that_begins_a_part_keeps_its_own_speaker() -> None:
    asked, answered = f"user: {'a ' * 20}b", f"assistant: {'b ' * 20}a"
    limit = max(tokens_of(asked, answered))
    assert cut(f"{asked}\n\n{answered}", limit) == [asked, answered]


def test_a_word_that_looks_like_a_speaker_is_none() -> None:
    listed = "\n".join(f"user: root, number {number}" for number in range(40))
    first, *others = cut(f"assistant: The file says\n{listed}", 60)
    assert first.startswith("assistant: The file says")
    assert all(piece.startswith("assistant: user: root") for piece in others)


def test_calls_are_parted_from_one_another_before_anything_within_them_is() -> None:
    calls = [f"tools: Bash({name}: one. two. three)" for name in "abcdefghijklmnop"]
    pieces = cut("user: Run them.\n\n" + "\n".join(calls), 70)
    assert len(pieces) > 2
    assert [line for piece in pieces for line in piece.split("\n") if line.startswith("tools")] == (
        calls
    )


def test_a_block_of_code_that_fits_a_part_is_never_cut() -> None:
    code = "```py\n" + "\n\n".join(f"def f{n}():\n    return {n}" for n in range(6)) + "\n```"
    for before in range(0, 120, 7):
        text = f"assistant: {WORDS * 2}{'word ' * before}\n\n{code}\n\n{WORDS * 8}"
        pieces = cut(text, 140)
        assert len(pieces) > 1
        assert sum(code in piece for piece in pieces) == 1


def test_a_block_of_code_longer_than_a_part_is_cut_between_its_lines() -> None:
    lines = [f"    value_{n} = compute(value_{n - 1})" for n in range(60)]
    code = "\n".join(("```py", "def f():", *lines, "```"))
    after = f"{WORDS * 6}"
    pieces = cut(f"assistant: Look.\n\n{code}\n\n{after}", 120)
    assert len(pieces) > 4
    whole = "\n".join(pieces).replace("assistant:     value", "    value").split("\n")
    assert [line for line in whole if "value_" in line] == lines


def test_what_follows_a_cut_block_is_no_block() -> None:
    lines = "\n".join(f"value_{n} = {n}" for n in range(60))
    second = "```py\n" + "\n\n".join(f"x_{n} = {n}" for n in range(8)) + "\n```"
    text = f"assistant: A\n\n```py\n{lines}\n```\n\n{WORDS * 3}\n\n{second}\n\n{WORDS * 5}"
    pieces = cut(text, 120)
    assert sum(second in piece for piece in pieces) == 1


def test_a_fence_that_is_never_closed_ends_with_its_message() -> None:
    calls = "\n".join(f"tools: Bash(number {number})" for number in range(30))
    pieces = cut(f"user: See ```\n```sh\nls\n\n{calls}", 80)
    assert all(piece.startswith(("user", "tools")) for piece in pieces)
    assert "\n".join(pieces).count("tools: Bash") == 30


def test_lines_keep_their_indentation_at_a_cut() -> None:
    lines = [f"        item {number}" for number in range(50)]
    first, second, *_ = cut("assistant: List:\n" + "\n".join(lines), 60)
    assert first.endswith(lines[first.count("item") - 1])
    assert second.startswith(f"assistant: {lines[first.count('item')]}")


def test_a_short_text_is_one_part_as_it_is() -> None:
    texts = ["user: Q", "", "  user: blanks stay \n\n"]
    assert chunking.chunk_texts(pl.Series(texts)).to_list() == [[text] for text in texts]


def test_a_long_text_of_blanks_is_one_empty_part() -> None:
    assert chunking.chunk_texts(pl.Series(["\n" * 50_000])).to_list() == [[""]]


def test_a_text_without_any_pause_is_cut_all_the_same() -> None:
    pieces = cut("x" * 2500, 100)
    assert "".join(pieces) == "x" * 2500
    assert max(tokens_of(*pieces)) <= 100 < max(tokens_of(*pieces)) + 2


@pytest.mark.parametrize(
    "sign", ["e\u0301", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "☂\ufe0f", "\r\n", "购", "x"]
)
def test_no_character_is_torn_apart(sign: str) -> None:
    text = sign * 900
    pieces = cut(text, 40)
    assert len(pieces) > 3 or not text.strip()
    assert all(piece == sign * (len(piece) // len(sign)) for piece in pieces)
    assert "".join(pieces) == text.strip()


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("购物车测试失败是因为夹具忘记了一个项目\uff0c所以我们再次运行它。" * 200, 300),
        ("Тест оформления заказа не проходит, корзина пуста. " * 200, 300),
        ("😀🎉🚀" * 700, 300),
        ("0123456789" * 400, 300),
        ("aB3+xY9/Qz7K" * 300, 300),
    ],
)
def test_the_bound_holds_in_every_script(text: str, limit: int) -> None:
    pieces = cut(f"user: {text}", limit)
    assert max(tokens_of(*pieces)) <= limit
    # Nor are they cut much finer than they must be.
    assert len(pieces) <= 2 * tokens_of(text)[0] // limit + 1


def test_a_text_in_windows_line_ends_is_cut_between_its_paragraphs() -> None:
    paragraph = (WORDS * 4).strip()
    pieces = cut("assistant: " + "\r\n\r\n".join([paragraph] * 20), 150)
    assert len(pieces) > 3
    assert all(piece.endswith("item.") and piece[-1] != "\r" for piece in pieces)
    assert all(piece.startswith("assistant: The cart") for piece in pieces)


def test_halves_of_a_character_do_not_stop_the_cutting() -> None:
    pieces = cut("a\ud83d b\ude00 " * 300, 50)
    assert "".join("".join(pieces).split()) == "a\ud83db\ude00" * 300


def test_a_turn_of_fifty_megabytes_is_cut_whole() -> None:
    lines = [f"tools: Bash(make target-{number}) -> ok" for number in range(1000)]
    text = "user: Build it.\n\n" + "\n".join(lines * 1500)
    assert len(text) > 50_000_000
    pieces = cut(text, chunking.LIMIT)
    assert sum(piece.count("tools: Bash") for piece in pieces) == 1_500_000
    assert max(tokens_of(*pieces)) <= chunking.LIMIT


def test_the_longest_text_costs_no_more_than_its_length() -> None:
    """Each character is looked at a few times, not once more for every part."""
    looked_at = [_Counting("word " * size).characters for size in (20_000, 80_000)]
    assert looked_at[1] < 6 * looked_at[0]


class _Counting(str):
    """A text that knows how many characters were taken out of it by cutting it up."""

    __slots__ = ("_taken",)

    def __getitem__(self, place: object) -> str:
        got = super().__getitem__(place)  # type: ignore[index]  # as str takes it
        self._taken = getattr(self, "_taken", 0) + len(got)
        return got

    @property
    def characters(self) -> int:
        self._taken = 0
        assert sum(len(piece.split()) for piece in chunking.chunks(self, 500))
        return self._taken


PIECES = st.sampled_from(
    [
        *("user: ", "assistant: ", "tools: ", "\n\nuser: ", "\n\nassistant: ", "\ntools: "),
        *("\n", "\n\n", "\r\n", " ", "    ", ". ", "\n```py\n", "\n```\n", "~~~", "é", "e\u0301"),
        *("购物", "😀", "👍🏽", "word", "Another", "12345", "{}", "a" * 30, "\u2028", "\ufe0f"),
    ]
)


@given(st.lists(PIECES, max_size=120).map("".join), st.integers(12, 60))
def test_no_part_is_too_long_and_none_is_blank(text: str, limit: int) -> None:
    pieces = cut(text, limit)
    assert all(count <= limit for count in tokens_of(*pieces))
    assert all(piece.strip() for piece in pieces)


@given(st.lists(PIECES, max_size=120).map("".join), st.integers(12, 60))
def test_the_parts_joined_again_are_the_text_but_for_blanks_at_the_cuts(
    text: str, limit: int
) -> None:
    # A part may begin with its speaker because the text does so there, or because it goes on.
    rests = {"".join(text.split())}
    for before, piece in pairwise(["", *cut(text, limit)]):
        whole = "".join(piece.split())
        speakers = [one.strip() for one in SPEAKERS if before and piece.startswith(one)]
        said = {whole, *(whole.removeprefix(speaker) for speaker in speakers)}
        rests = {rest[len(one) :] for rest in rests for one in said if rest.startswith(one)}
    assert "" in rests

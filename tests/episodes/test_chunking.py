from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import frames
from tests.builders import turn
from turnetl.episodes import chunking
from turnetl.episodes.chunking import estimate_tokens
from turnetl.episodes.filters import CHUNK_LIMIT

SPEAKERS = ("user: ", "assistant: ", "tools: ")
WORDS = "The cart was empty because the fixture forgot an item. "


def tokens_of(*texts: str) -> list[int]:
    return estimate_tokens(pl.Series(texts, dtype=pl.String)).to_list()


def chunks_of(text: str, limit: int) -> list[str]:
    return list(chunking.chunks(text, limit))


def test_a_long_turn_is_split_into_chunks_that_fit_one_prompt_each() -> None:
    long = turn(assistant_text=(WORDS * 40 + "\n\n") * 60)
    table = frames.episode_table(frames.turns(turn("p1"), long))
    row = table.filter(pl.col("chunks").list.len() > 1).row(0, named=True)
    assert len(row["chunks"]) > 3
    assert max(tokens_of(*row["chunks"])) <= CHUNK_LIMIT
    assert "".join(row["chunks"]).count(WORDS.strip()) == 40 * 60
    assert all(chunk.endswith(".") for chunk in row["chunks"])


@given(
    st.lists(st.sampled_from(["word ", "x" * 50, "\n\n", "é", "a. ", "\n\nuser: "]), min_size=40)
)
def test_split_in_half_gives_two_or_three_shorter_chunks_and_loses_no_word(
    pieces: list[str],
) -> None:
    text = "".join(pieces)
    halves = chunking.split_in_half(text)
    if text.strip():
        assert max(map(len, halves)) < len(text)
    joined = "".join(halves).replace("user:", "")
    assert "".join(joined.split()) == "".join(text.replace("user:", "").split())
    assert len(halves) <= 4


def test_a_message_that_continues_in_the_next_chunk_repeats_its_speaker() -> None:
    first, *others = chunks_of("user: Why?\n\nassistant: " + "One thing. " * 60, 60)
    assert first.startswith("user: Why?")
    assert len(others) > 1
    assert all(piece.startswith("assistant: One thing.") for piece in others)


def test_a_message_that_begins_a_chunk_keeps_its_own_speaker() -> None:
    asked, answered = f"user: {'a ' * 20}b", f"assistant: {'b ' * 20}a"
    limit = max(tokens_of(asked, answered))
    assert chunks_of(f"{asked}\n\n{answered}", limit) == [asked, answered]


def test_a_line_within_a_message_that_looks_like_a_speaker_is_not_a_speaker() -> None:
    listed = "\n".join(f"user: root, number {number}" for number in range(40))
    first, *others = chunks_of(f"assistant: The file says\n{listed}", 60)
    assert first.startswith("assistant: The file says")
    assert all(piece.startswith("assistant: user: root") for piece in others)


def test_text_is_split_between_tool_calls_before_it_is_split_within_one() -> None:
    calls = [f"tools: Bash({name}: one. two. three)" for name in "abcdefghijklmnop"]
    pieces = chunks_of("user: Run them.\n\n" + "\n".join(calls), 70)
    assert len(pieces) > 2
    assert [line for piece in pieces for line in piece.split("\n") if line.startswith("tools")] == (
        calls
    )


def test_a_code_block_that_fits_a_chunk_is_never_split() -> None:
    code = "```py\n" + "\n\n".join(f"def f{n}():\n    return {n}" for n in range(6)) + "\n```"
    for before in range(0, 120, 7):
        text = f"assistant: {WORDS * 2}{'word ' * before}\n\n{code}\n\n{WORDS * 8}"
        pieces = chunks_of(text, 140)
        assert len(pieces) > 1
        assert sum(code in piece for piece in pieces) == 1


def test_a_code_block_longer_than_a_chunk_is_split_between_its_lines() -> None:
    lines = [f"    value_{n} = compute(value_{n - 1})" for n in range(60)]
    code = "\n".join(("```py", "def f():", *lines, "```"))
    after = f"{WORDS * 6}"
    pieces = chunks_of(f"assistant: Look.\n\n{code}\n\n{after}", 120)
    assert len(pieces) > 4
    whole = "\n".join(pieces).replace("assistant:     value", "    value").split("\n")
    assert [line for line in whole if "value_" in line] == lines


def test_the_text_after_a_split_code_block_is_not_part_of_the_block() -> None:
    lines = "\n".join(f"value_{n} = {n}" for n in range(60))
    second = "```py\n" + "\n\n".join(f"x_{n} = {n}" for n in range(8)) + "\n```"
    text = f"assistant: A\n\n```py\n{lines}\n```\n\n{WORDS * 3}\n\n{second}\n\n{WORDS * 5}"
    pieces = chunks_of(text, 120)
    assert sum(second in piece for piece in pieces) == 1


def test_an_unclosed_fence_ends_with_its_message() -> None:
    calls = "\n".join(f"tools: Bash(number {number})" for number in range(30))
    pieces = chunks_of(f"user: See ```\n```sh\nls\n\n{calls}", 80)
    assert all(piece.startswith(("user", "tools")) for piece in pieces)
    assert "\n".join(pieces).count("tools: Bash") == 30


def test_a_line_after_a_boundary_keeps_its_indentation() -> None:
    lines = [f"        item {number}" for number in range(50)]
    first, second, *_ = chunks_of("assistant: List:\n" + "\n".join(lines), 60)
    assert first.endswith(lines[first.count("item") - 1])
    assert second.startswith(f"assistant: {lines[first.count('item')]}")


def test_a_short_text_is_one_unchanged_chunk_of_which_no_copy_is_listed() -> None:
    texts = ["user: Q", "", "  user: blanks stay \n\n"]
    assert chunking.chunk_texts(pl.Series(texts)).to_list() == [[], [], []]


def test_a_long_text_of_whitespace_is_one_empty_chunk() -> None:
    assert chunking.chunk_texts(pl.Series(["\n" * 50_000])).to_list() == [[""]]


def test_a_text_without_natural_boundaries_is_split_too() -> None:
    pieces = chunks_of("x" * 2500, 100)
    assert "".join(pieces) == "x" * 2500
    assert max(tokens_of(*pieces)) <= 100 < max(tokens_of(*pieces)) + 2


@pytest.mark.parametrize(
    "character", ["e\u0301", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "☂\ufe0f", "\r\n", "购", "x"]
)
def test_no_displayed_character_is_split(character: str) -> None:
    text = character * 900
    pieces = chunks_of(text, 40)
    assert len(pieces) > 3 or not text.strip()
    assert all(piece == character * (len(piece) // len(character)) for piece in pieces)
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
def test_the_limit_holds_in_every_script(text: str, limit: int) -> None:
    pieces = chunks_of(f"user: {text}", limit)
    assert max(tokens_of(*pieces)) <= limit
    # Nor are the chunks much smaller than necessary.
    assert len(pieces) <= 2 * tokens_of(text)[0] // limit + 1


def test_a_text_with_windows_line_ends_is_split_between_its_paragraphs() -> None:
    paragraph = (WORDS * 4).strip()
    pieces = chunks_of("assistant: " + "\r\n\r\n".join([paragraph] * 20), 150)
    assert len(pieces) > 3
    assert all(piece.endswith("item.") and piece[-1] != "\r" for piece in pieces)
    assert all(piece.startswith("assistant: The cart") for piece in pieces)


def test_lone_surrogates_are_accepted() -> None:
    pieces = chunks_of("a\ud83d b\ude00 " * 300, 50)
    assert "".join("".join(pieces).split()) == "a\ud83db\ude00" * 300


@pytest.mark.full
def test_a_turn_of_fifty_megabytes_is_split_without_loss() -> None:
    lines = [f"tools: Bash(make target-{number}) -> ok" for number in range(1000)]
    text = "user: Build it.\n\n" + "\n".join(lines * 1500)
    assert len(text) > 50_000_000
    pieces = chunks_of(text, CHUNK_LIMIT)
    assert sum(piece.count("tools: Bash") for piece in pieces) == 1_500_000
    assert max(tokens_of(*pieces)) <= CHUNK_LIMIT


def test_the_cost_is_linear_in_the_length_of_the_text() -> None:
    """Each character is read a few times, not once more for every chunk."""
    characters_read = [_CountingText("word " * size).characters for size in (20_000, 80_000)]
    assert characters_read[1] < 6 * characters_read[0]


class _CountingText(str):
    """A text that counts the characters of the slices taken from it."""

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


FRAGMENTS = st.sampled_from(
    [
        *("user: ", "assistant: ", "tools: ", "\n\nuser: ", "\n\nassistant: ", "\ntools: "),
        *("\n", "\n\n", "\r\n", " ", "    ", ". ", "\n```py\n", "\n```\n", "~~~", "é", "e\u0301"),
        *("购物", "😀", "👍🏽", "word", "Another", "12345", "{}", "a" * 30, "\u2028", "\ufe0f"),
    ]
)


@given(st.lists(FRAGMENTS, max_size=120).map("".join), st.integers(12, 60))
def test_no_chunk_exceeds_the_limit_and_none_is_blank(text: str, limit: int) -> None:
    pieces = chunks_of(text, limit)
    assert all(count <= limit for count in tokens_of(*pieces))
    assert all(piece.strip() for piece in pieces)


@given(st.lists(FRAGMENTS, max_size=120).map("".join), st.integers(12, 60))
def test_the_joined_chunks_are_the_text_except_for_whitespace_at_the_boundaries(
    text: str, limit: int
) -> None:
    # A chunk may begin with a speaker because the text has it there, or because it is repeated.
    rests = {"".join(text.split())}
    for before, piece in pairwise(["", *chunks_of(text, limit)]):
        whole = "".join(piece.split())
        speakers = [speaker.strip() for speaker in SPEAKERS if before and piece.startswith(speaker)]
        forms = {whole, *(whole.removeprefix(speaker) for speaker in speakers)}
        rests = {rest[len(form) :] for rest in rests for form in forms if rest.startswith(form)}
    assert "" in rests

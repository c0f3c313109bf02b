import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests import frames
from tests.builders import turn
from turnetl.episodes import episodes, parts


def test_a_long_turn_comes_in_parts_that_fit_one_prompt_each() -> None:
    paragraph = "The cart was empty. " * 40
    long = turn(assistant_text=(paragraph + "\n\n") * 120)
    row = (
        episodes(frames.turns(turn("p1"), long))
        .filter(pl.col("parts").list.len() > 1)
        .row(0, named=True)
    )
    assert len(row["parts"]) > 1
    assert all(len(part) <= parts.LIMIT * 4 for part in row["parts"])
    assert "".join(row["parts"]).count("The cart was empty.") == 40 * 120
    assert all(part.rstrip().endswith(".") for part in row["parts"])


def test_what_goes_on_in_the_next_part_has_its_speaker_again() -> None:
    text = "user: Why?\n\nassistant: " + "One thing. " * 30
    first, *others = parts.pieces_of(text, 120)
    assert first.startswith("user: Why?")
    assert others
    assert all(piece.startswith("assistant: ") for piece in others)


def test_a_message_that_begins_a_part_keeps_its_own_speaker() -> None:
    text = "user: " + "a" * 60 + "\n\nassistant: " + "b" * 60
    assert list(parts.pieces_of(text, 80)) == ["user: " + "a" * 60, "assistant: " + "b" * 60]


def test_a_short_text_is_one_part_as_it_is() -> None:
    assert parts.split(pl.Series(["user: Q", ""])).to_list() == [["user: Q"], [""]]


def test_a_text_without_any_pause_is_cut_all_the_same() -> None:
    assert list(parts.pieces_of("x" * 250, 100)) == ["x" * 100, "x" * 100, "x" * 50]


@given(st.text(st.sampled_from("ab \n.:é"), max_size=400), st.integers(40, 90))
def test_no_letter_is_lost_at_the_cuts(text: str, room: int) -> None:
    pieces = list(parts.pieces_of(text, room))
    assert all(len(piece) <= room for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())

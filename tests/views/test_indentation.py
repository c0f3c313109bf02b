"""Lines that continue on the next one, on a terminal and in a pipe."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests import builders
from tests.builders import START
from tests.printed import printed
from turnetl.episode_text.conversation import Conversation, ConversationStep, TextSource
from turnetl.retrieval.details import TurnDetails
from turnetl.retrieval.hits import HitFact, SearchHit
from turnetl.retrieval.snippets import Snippet
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.views import details, search_hits
from turnetl.views.nodes import HangingIndent, Lines, View, line
from turnetl.views.terminal import rendered

WORDS = " ".join(f"word{number}" for number in range(30))
RECEIPT = builders.receipt(builders.episode())


def lines_of(view: View, width: int = 80) -> list[str]:
    return printed(view, width).splitlines()


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def hit(prompt: str) -> SearchHit:
    return SearchHit(
        id=RECEIPT.turn_id[:8],
        prompt=prompt,
        intent=prompt,
        outcome="",
        started_at=START,
        fact=f"first {WORDS}",
        score=1.0,
        relevance=None,
        relation="RAN",
        valid_at=START,
        invalid_at=START,
        group_id=RECEIPT.group_id,
        session_id=RECEIPT.session_id,
        turn_id=RECEIPT.turn_id,
        archive="a.jsonl",
        first_line=1,
        last_line=2,
        passage="",
        more_facts=(HitFact(f"second {WORDS}", "RAN", START, None),),
        files=(),
    )


def test_the_title_and_the_facts_of_a_verbose_hit_continue_below_their_beginning() -> None:
    lines = lines_of(search_hits.view([hit(f"title {WORDS}")], "no hits", is_verbose=True))
    for beginning, expected in ((" 1. title", 4), ("    · first", 6), ("    · second", 6)):
        start = next(row for row, line in enumerate(lines) if line.startswith(beginning))
        continued = lines[start + 1 : start + 3]
        assert [indentation(line) for line in continued] == [expected, expected]
        assert all(line.lstrip().startswith("word") for line in continued)


def test_the_fact_of_a_turn_without_a_prompt_is_printed_once() -> None:
    text = " ".join(printed(search_hits.view([hit("")], "no hits", is_verbose=True)).split())
    assert text.count("first word0") == 1
    assert "(ended on " in text


@pytest.mark.parametrize("width", [40, 80])
def test_ten_hits_fit_a_screen_at_any_width_and_the_id_of_a_turn_is_complete(width: int) -> None:
    snippet = Snippet(f"it says {WORDS} {WORDS}", ((3, 7),))
    hits = [replace(hit(f"title {WORDS}"), snippet=snippet, invalid_at=None)] * 10
    ended = replace(hit("short"), relation="DECIDED", ended_by="turn t: no", snippet=snippet)
    for shown in (hits, [ended] * 10):
        lines = lines_of(search_hits.view(shown, "no hits"), width)
        assert len(lines) <= 40
        assert max(map(len, lines)) <= width
        assert sum(RECEIPT.turn_id[:8] in line for line in lines) == 10
    assert sum(line.endswith("…") for line in lines_of(search_hits.view(hits, ""), width)) >= 20


def test_a_hit_in_a_pipe_is_not_filled_to_the_width_of_its_lines() -> None:
    snippet = Snippet(f"it says {WORDS}", ((3, 7),))
    view = search_hits.view([replace(hit("title"), snippet=snippet)], "no hits")
    console = Console(file=StringIO(), width=1_000_000)
    with console.capture() as capture:
        console.print(rendered(view, Path.cwd()), crop=False)
    assert len(capture.get()) < 1_000


def test_the_parts_of_a_snippet_are_its_whole_text_with_the_words_of_the_query() -> None:
    snippet = Snippet("the cart is empty", ((4, 8), (12, 17)))
    parts = [*snippet.parts()]
    assert parts == [
        ("the ", False),
        ("cart", True),
        (" is ", False),
        ("empty", True),
        ("", False),
    ]


def test_an_outcome_continues_below_its_beginning() -> None:
    step = ConversationStep("Bash", "pytest", WORDS, is_error=False, ended_at=None)
    conversation = Conversation(TextSource.LAKE, "Why?", (step,), (), "", None)
    summary = TurnSummary("a", "Why?", "Why?", "So.", (), RECEIPT)
    turn = TurnDetails(summary, conversation, (), None, None, None)
    lines = lines_of(details.view(turn, full=True, neighbours=False))
    assert [indentation(line) for line in lines if "word" in line] == [8, 8, 8]


def test_a_line_with_tabs_is_not_wrapped_where_there_is_room() -> None:
    text = "ok\tturnetl\t2.3 s\tno test files"
    for node in (Lines([Lines([text], 4)], 4), HangingIndent(line("· "), line(text))):
        (found,) = lines_of([node], 1_000)
        assert found.removeprefix("· ").split() == text.split()

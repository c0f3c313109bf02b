"""Lines that continue on the next one, on a terminal and in a pipe."""

from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from tests import builders
from tests.builders import START
from turnetl.episode_text.conversation import Conversation, ConversationStep, TextSource
from turnetl.report import details, search_hits
from turnetl.report.layout import hanging, indented
from turnetl.retrieval.details import TurnDetails
from turnetl.retrieval.hits import HitFact, SearchHit
from turnetl.retrieval.turn_summary import TurnSummary

WORDS = " ".join(f"word{number}" for number in range(30))
RECEIPT = builders.receipt(builders.episode())


def printed(view: RenderableType, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(view)
    return captured.get().splitlines()


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def hit(prompt: str) -> SearchHit:
    return SearchHit(
        id=RECEIPT.turn_id[:8],
        prompt=prompt,
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


def test_the_title_and_the_facts_of_a_hit_continue_below_their_beginning() -> None:
    lines = printed(search_hits.table([hit(f"title {WORDS}")], "no hits", Path("/")), 80)
    for beginning, expected in ((" 1. title", 4), ("    first", 4), ("    · second", 6)):
        start = next(row for row, line in enumerate(lines) if line.startswith(beginning))
        continued = lines[start + 1 : start + 3]
        assert [indentation(line) for line in continued] == [expected, expected]
        assert all(line.lstrip().startswith("word") for line in continued)


def test_the_fact_of_a_turn_without_a_prompt_is_printed_once() -> None:
    text = " ".join(
        " ".join(printed(search_hits.table([hit("")], "no hits", Path("/")), 80)).split()
    )
    assert text.count("first word0") == 1
    assert "(until " in text


def test_an_outcome_continues_below_its_beginning() -> None:
    step = ConversationStep("Bash", "pytest", WORDS, is_error=False, ended_at=None)
    conversation = Conversation(TextSource.LAKE, "Why?", (step,), (), "", None)
    summary = TurnSummary("a", "Why?", (), RECEIPT)
    turn = TurnDetails(summary, conversation, (), None, None, None)
    lines = printed(details.view(turn, Path("/"), full=True, neighbours=False), 80)
    assert [indentation(line) for line in lines if "word" in line] == [8, 8, 8]


def test_a_line_with_tabs_is_not_wrapped_where_there_is_room() -> None:
    text = Text("ok\tturnetl\t2.3 s\tno test files")
    for view in (indented(indented(text)), hanging(Text("· "), text)):
        (line,) = printed(view, 1_000)
        assert line.removeprefix("· ").split() == text.plain.split()

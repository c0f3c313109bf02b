"""The public functions that answer questions about the history, on a filled graph."""

import asyncio
import dataclasses
import shutil
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import turnetl
from tests.cli.command import SAMPLES, run_in_process
from tests.cli.repository import Repository
from tests.cli.test_why import FIRST, SECOND
from turnetl.base.errors import BadUsage, GraphUnusable
from turnetl.base.results import encoded
from turnetl.graph.open import open_graph
from turnetl.pipeline.history import Fixes

ARCHIVE = SAMPLES / "bookshop" / "2026-03-03-checkout.jsonl"
SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
TURN, CART, ERROR = "66185fa7", "src/bookshop/cart.py", "KeyError: 'price'"

Question = Callable[[turnetl.Settings], Awaitable[turnetl.IndexAnswer[Any]]]
QUESTIONS: dict[str, Question] = {
    "show": lambda settings: turnetl.show(SESSION, settings),
    "timeline": lambda settings: turnetl.timeline(settings, file=CART),
    "entity": lambda settings: turnetl.entity(ERROR, settings),
    "file": lambda settings: turnetl.file(CART, settings),
    "fix": lambda settings: turnetl.fix(ERROR, settings),
}
ASKED = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


async def answered(question: Question, settings: turnetl.Settings) -> turnetl.IndexAnswer[Any]:
    return await question(settings)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> turnetl.Settings:
    """Return the settings of a lake and a graph of one archive; they are only read."""
    settings = turnetl.Settings(lake=tmp_path_factory.mktemp("history") / ".turnetl" / "lake")
    asyncio.run(turnetl.backfill(ARCHIVE, settings))
    return settings


@pytest.fixture
def copied(filled: turnetl.Settings, tmp_path: Path) -> turnetl.Settings:
    """Return the settings of a copy that a test may change."""
    shutil.copytree(filled.lake, tmp_path / "lake")
    return turnetl.Settings(lake=tmp_path / "lake")


async def _fixes(settings: turnetl.Settings) -> turnetl.IndexAnswer[Fixes]:
    """Return the answer as the command has it: the function leaves out that there are no turns."""
    found = await turnetl.fix(ERROR, settings)
    return turnetl.IndexAnswer(Fixes(found.value), found.caught_up_at, found.unread)


@pytest.mark.full
@pytest.mark.parametrize(
    ("question", "command"),
    [
        (QUESTIONS["show"], ("show", SESSION)),
        (lambda settings: turnetl.show(TURN, settings), ("show", TURN)),
        (QUESTIONS["timeline"], ("timeline", "--file", CART)),
        (QUESTIONS["entity"], ("entity", ERROR)),
        (QUESTIONS["file"], ("file", CART)),
        (_fixes, ("fix", ERROR)),
    ],
    ids=["session", "turn", "timeline", "entity", "file", "fix"],
)
def test_a_function_returns_what_its_command_prints_and_prints_nothing(
    question: Question,
    command: Sequence[str],
    filled: turnetl.Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = asyncio.run(answered(question, filled))
    assert capsys.readouterr() == ("", "")
    printed = run_in_process(*command, "--json", folder=filled.lake.parent.parent)
    assert encoded(answer) == printed.stdout.rstrip("\n")


@pytest.mark.full
async def test_both_stores_answer_every_question(graph_url: str, tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path / "lake", graph=graph_url)
    await turnetl.backfill(ARCHIVE, settings)
    session = await turnetl.show(SESSION, settings)
    assert isinstance(session.value, turnetl.SessionDetails)
    assert session.value.turns[0].id == TURN
    turns = await turnetl.timeline(settings, until=datetime(2026, 3, 4, tzinfo=UTC), limit=1)
    assert (len(turns.value.turns), turns.value.count) == (1, len(session.value.turns))
    error = await turnetl.entity(ERROR.upper(), settings, label="Error")
    assert error.value.turns[0].turn.id == TURN
    file = await turnetl.file("/elsewhere/bookshop/src/bookshop/cart.py", settings)
    assert (file.value.entity.name, file.value.turn_count) == (CART, 2)
    fixes = await turnetl.fix(f"FAILED with {ERROR}", settings)
    assert fixes.value[0].occurrences[0].resolved_at is not None
    fact = error.value.turns[0].facts[0]
    shown = await turnetl.show(fact.uuid, settings)
    assert isinstance(shown.value, turnetl.FactDetails)
    assert shown.value.indexed.fact == fact


async def test_the_lines_of_a_file_lead_to_their_turns(
    filled: turnetl.Settings, tmp_path: Path
) -> None:
    repository = Repository(tmp_path)
    repository.commit(FIRST, "2026-03-01T10:00:00Z")
    repository.commit(SECOND, "2026-03-03T09:15:00Z")
    found = (await turnetl.why(repository.file, filled, line=4)).value
    (commit,) = found.attributions
    assert (found.file.path, found.line, found.count) == (CART, 4, 1)
    assert (commit.certainty, [turn.id for turn in commit.turns]) == ("line", [TURN])
    assert len((await turnetl.why(str(repository.file), filled)).value.attributions) == 2
    with pytest.raises(BadUsage, match="no line 0"):
        await turnetl.why(repository.file, filled, line=0)
    with pytest.raises(BadUsage, match="there is no file"):
        await turnetl.why(tmp_path / "nothing.py", filled)


@ASKED
async def test_without_a_lake_the_graph_answers(
    question: Question, filled: turnetl.Settings, tmp_path: Path
) -> None:
    elsewhere = turnetl.Settings(lake=tmp_path / "none", graph=filled.graph_url)
    assert (await question(elsewhere)).value == (await question(filled)).value


async def test_without_a_lake_the_text_of_a_turn_is_that_of_the_graph(
    filled: turnetl.Settings, tmp_path: Path
) -> None:
    elsewhere = turnetl.Settings(lake=tmp_path / "none", graph=filled.graph_url)
    for settings, source in ((filled, "lake"), (elsewhere, "graph")):
        turn = (await turnetl.show(TURN, settings)).value
        assert isinstance(turn, turnetl.TurnDetails)
        assert turn.conversation.source == source
        assert turn.conversation.steps[0].is_error


@ASKED
async def test_an_index_that_is_missing_is_made(
    question: Question, copied: turnetl.Settings
) -> None:
    expected = await question(copied)
    shutil.rmtree(copied.lake / "index")
    answer = await question(copied)
    assert (answer.value, answer.unread) == (expected.value, None)
    assert answer.caught_up_at is not None


@ASKED
def test_without_a_graph_the_error_says_so_and_nothing_is_written(
    question: Question, tmp_path: Path
) -> None:
    with pytest.raises(GraphUnusable, match="there is no graph"):
        asyncio.run(answered(question, turnetl.Settings(lake=tmp_path / "lake")))
    assert list(tmp_path.iterdir()) == []


async def test_while_another_writes_the_graph_an_answer_says_that_it_may_be_old(
    copied: turnetl.Settings,
) -> None:
    (copied.lake / "graph.lbug").touch()  # as a write does: the index is no longer current
    held = await open_graph(copied.graph_url, user="", password="", write=True)
    try:
        answer = await turnetl.show(TURN, copied)
    finally:
        await held.close()
    assert isinstance(answer.value, turnetl.TurnDetails)
    assert answer.unread is not None


_NOT_GIVEN = "no id and no name is given"


@pytest.mark.parametrize(
    ("name", "item", "entity", "file"),
    [
        ("zzzz", "nothing has the id", "there is no entity", "there is no file"),
        ("", _NOT_GIVEN, _NOT_GIVEN, _NOT_GIVEN),
    ],
)
async def test_a_name_that_leads_to_nothing_is_an_error(
    name: str, item: str, entity: str, file: str, filled: turnetl.Settings
) -> None:
    with pytest.raises(BadUsage, match=item):
        await turnetl.show(name, filled)
    with pytest.raises(BadUsage, match=entity):
        await turnetl.entity(name, filled)
    with pytest.raises(BadUsage, match=file):
        await turnetl.file(name, filled)
    with pytest.raises(BadUsage):
        await turnetl.timeline(filled, session="zzzz")
    assert (await turnetl.fix(name, filled)).value == []


async def test_what_leads_to_several_things_is_an_error_that_lists_them(
    filled: turnetl.Settings,
) -> None:
    turns = (await turnetl.timeline(filled, limit=999)).value.turns
    facts = [fact.uuid for turn in turns for fact in await facts_of(turn.id, filled)]
    beginning = next(uuid[0] for uuid in facts if sum(one[0] == uuid[0] for one in facts) > 1)
    with pytest.raises(BadUsage, match=f"`{beginning}` is several: .*Type more of the id"):
        await turnetl.show(beginning, filled)


async def facts_of(turn_id: str, settings: turnetl.Settings) -> Sequence[Any]:
    turn = (await turnetl.show(turn_id, settings)).value
    assert isinstance(turn, turnetl.TurnDetails)
    return turn.facts


async def test_an_unknown_group_is_an_error(filled: turnetl.Settings) -> None:
    unknown = ["nowhere"]
    for question in (
        turnetl.timeline(filled, groups=unknown),
        turnetl.entity(ERROR, filled, groups=unknown),
        turnetl.file(CART, filled, groups=unknown),
        turnetl.fix(ERROR, filled, groups=unknown),
    ):
        with pytest.raises(BadUsage, match="nowhere"):
            await question


async def test_a_limit_below_one_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path / "lake")
    for question in (
        turnetl.search("cart", settings, limit=0),
        turnetl.show(TURN, settings, limit=0),
        turnetl.timeline(settings, limit=-1),
        turnetl.entity(ERROR, settings, limit=0),
        turnetl.file(CART, settings, limit=0),
        turnetl.fix(ERROR, settings, limit=0),
        turnetl.why(tmp_path / "a.py", settings, limit=0),
    ):
        with pytest.raises(BadUsage, match="`limit` must be at least 1"):
            await question


async def test_answers_are_frozen(filled: turnetl.Settings) -> None:
    answer = await turnetl.timeline(filled)
    for value in (answer, answer.value, answer.value.turns[0], answer.value.turns[0].receipt):
        name = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)

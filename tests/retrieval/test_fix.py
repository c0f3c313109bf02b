"""Where an error occurred, and what resolved it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW
from turnetl.base.graph_model import CommittedTurn, GroupContents, Receipt
from turnetl.base.model import Entity, Fact, GroupId, SessionId
from turnetl.index.persistent import PersistentIndex
from turnetl.retrieval.fix import EXACT, ErrorMatcher, find_fixes

PYTEST = Entity("e1", GROUP, "pytest", ("Command",), "", START)
ERROR = Entity("e2", GROUP, "KeyError: 'price'", ("Error",), "", START)
FILE = Entity("e3", GROUP, "src/cart.py", ("File",), "", START)
OPEN_ERROR = Entity("e4", GROUP, "TimeoutError: no answer", ("Error",), "", START)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def receipt(name: str, minute: int, session: str) -> Receipt:
    return builders.receipt(
        builders.episode(
            name,
            session_id=SessionId(session),
            started_at=at(minute),
            ended_at=at(minute) + timedelta(seconds=50),
        )
    )


FAILED, PARALLEL, FIXED = receipt("a", 0, "s1"), receipt("b", 5, "s2"), receipt("c", 5, "s1")
TEXTS = {
    FAILED.turn_id: "user: run the tests\n\nassistant: They fail.\n\ntools: Bash pytest -> failed",
    PARALLEL.turn_id: "user: write docs\n\nassistant: Written.",
    FIXED.turn_id: "user: repair it\n\nassistant: Looking.\n\nThe cart reads price_cents now.",
}


def fact(
    uuid: str, source: Entity, relation: str, target: Entity, turn: Receipt, **times: datetime
) -> Fact:
    return Fact(
        uuid=uuid,
        group_id=GROUP,
        source=source.uuid,
        target=target.uuid,
        relation=relation,
        text=f"`{source.name}` {relation} `{target.name}`",
        turns=(turn.turn_id,),
        created_at=START,
        valid_at=times.get("valid_at", turn.started_at),
        invalid_at=times.get("invalid_at"),
    )


FAILURE = replace(
    fact("f1", PYTEST, "FAILED_WITH", ERROR, FAILED, valid_at=at(0), invalid_at=at(5)),
    attributes={"resolution": "fixed"},
)
EDIT = fact("f2", FILE, "MODIFIED", FILE, FIXED, valid_at=at(5))
LATER_EDIT = fact("f3", FILE, "MODIFIED", PYTEST, FIXED, valid_at=at(6))
COMMIT = Entity("e5", GROUP, "0a1b2c3d", ("Commit",), "", START)
COMMITTED = fact("f9", COMMIT, "COMMITTED", FILE, FIXED, valid_at=at(6))
OTHER_COMMIT = fact("f10", COMMIT, "COMMITTED", PYTEST, FIXED, valid_at=at(6))
FIX = fact("f4", ERROR, "FIXED_BY", FILE, FIXED, valid_at=at(5))
OTHER = fact("f5", FILE, "MODIFIED", ERROR, PARALLEL, valid_at=at(5))
UNRESOLVED = fact("f6", PYTEST, "FAILED_WITH", OPEN_ERROR, PARALLEL)


class InvalidatingGraph(LoadedGraph):
    """A graph whose last turn of `s1` invalidated the failure."""

    async def commits(self, group: GroupId, after: int, limit: int) -> list[CommittedTurn]:
        commits = await super().commits(group, after, limit)
        return [
            replace(commit, facts=tuple(sorted({*commit.facts, FAILURE.uuid})))
            if commit.receipt == FIXED
            else commit
            for commit in commits
        ]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    contents = GroupContents(
        GROUP,
        None,
        (PYTEST, ERROR, FILE, OPEN_ERROR, COMMIT),
        (FAILURE, EDIT, LATER_EDIT, FIX, COMMITTED, OTHER_COMMIT, OTHER, UNRESOLVED),
        (FAILED, PARALLEL, FIXED),
        TEXTS,
    )
    await opened.catch_up(InvalidatingGraph(contents), EMBEDDER, now=NOW)
    yield opened
    opened.close()


async def test_a_failure_is_resolved_by_the_turn_that_invalidated_it(
    index: PersistentIndex,
) -> None:
    """A parallel session at the same time is not taken for it."""
    (found,) = await find_fixes(index, "KeyError: 'price'", EMBEDDER, limit=5)
    (occurrence,) = found.occurrences
    assert (found.error, occurrence.fact, occurrence.resolved_at) == (ERROR, FAILURE, at(5))
    assert occurrence.turn.receipt == FAILED
    assert occurrence.resolved_by is not None
    assert occurrence.resolved_by.receipt == FIXED
    assert occurrence.resolution == occurrence.outcome == "fixed"
    assert occurrence.answer == "Looking.\n\nThe cart reads price_cents now."


async def test_the_evidence_is_what_changed_until_the_success_and_the_commit_of_the_fix(
    index: PersistentIndex,
) -> None:
    (found,) = await find_fixes(index, "KeyError: 'price'", EMBEDDER, limit=5)
    assert found.occurrences[0].evidence == (EDIT, FIX, COMMITTED)


async def test_an_error_without_a_later_success_is_not_called_resolved(
    index: PersistentIndex,
) -> None:
    (found,) = await find_fixes(index, "TimeoutError", EMBEDDER, limit=5)
    (occurrence,) = found.occurrences
    assert (occurrence.resolved_at, occurrence.resolved_by) == (None, None)
    assert (occurrence.evidence, occurrence.resolution) == ((), "unresolved")
    assert occurrence.answer == "Written."


@pytest.mark.parametrize("text", ["", "   ", '"', "segmentation fault", "panic in the printer"])
async def test_what_never_occurred_has_no_fix(index: PersistentIndex, text: str) -> None:
    assert await find_fixes(index, text, EMBEDDER, limit=5) == []


async def test_an_error_that_was_only_edited_is_shown_with_the_edit(tmp_path: Path) -> None:
    edited = replace(UNRESOLVED, attributes={"resolution": "edited"})
    fix = fact("f7", OPEN_ERROR, "FIXED_BY", FILE, FIXED, valid_at=at(6))
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    contents = GroupContents(
        GROUP, None, (PYTEST, FILE, OPEN_ERROR), (edited, fix), (PARALLEL, FIXED), TEXTS
    )
    await opened.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
    (found,) = await find_fixes(opened, "TimeoutError", EMBEDDER, limit=5)
    opened.close()
    (occurrence,) = found.occurrences
    assert (occurrence.resolution, occurrence.resolved_at) == ("edited", None)
    assert occurrence.evidence == (fix,)
    assert occurrence.answer == "Looking.\n\nThe cart reads price_cents now."


async def test_other_words_find_an_error_and_the_name_of_another_one_does_not(
    tmp_path: Path,
) -> None:
    error = replace(ERROR, name="the result of closing the file is ignored")
    failed = replace(fact("f8", PYTEST, "FAILED_WITH", error, FAILED), text="`make lint` failed")
    text = "user: what does the linter say?\n\nassistant: The result of closing a file is ignored."
    texts = {**TEXTS, FAILED.turn_id: text}
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    contents = GroupContents(
        GROUP, None, (PYTEST, error), (failed,), (FAILED, PARALLEL, FIXED), texts
    )
    await opened.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
    described = "linter complains about files that are closing and ignoring it"
    found = await find_fixes(opened, described, EMBEDDER, limit=5)
    named = await find_fixes(opened, f"{described} in closeShop", EMBEDDER, limit=5)
    opened.close()
    assert [one.error for one in found] == [error]
    assert named == []


async def test_the_error_of_a_long_log_is_found_at_its_end(index: PersistentIndex) -> None:
    log = "\n".join(f"compiled module {number} of the shop" for number in range(200))
    (found,) = await find_fixes(index, f"{log}\nKeyError: 'price'", EMBEDDER, limit=5)
    assert found.error == ERROR


async def test_only_errors_of_the_groups_are_found(index: PersistentIndex) -> None:
    found = await find_fixes(index, "KeyError", EMBEDDER, groups=[GroupId("x")], limit=5)
    assert found == []


def test_a_log_that_contains_the_message_matches() -> None:
    matcher = ErrorMatcher(
        "Traceback:\n  File cart.py, line 3\nKeyError:  'price'\n1 failed in 2 s"
    )
    assert matcher.score(ERROR.name, "") == 1.0
    assert matcher.score("ValueError: empty", "") == 0.0


def test_a_message_whose_end_was_cut_is_the_same_message() -> None:
    name = "Error response from daemon: driver failed…"
    assert ErrorMatcher("error response from daemon: driver failed").score(name, "") == EXACT


@given(st.text(), st.text(), st.text())
def test_no_text_has_a_score_outside_of_the_range(text: str, name: str, statement: str) -> None:
    score = ErrorMatcher(text).score(name, statement)
    assert 0 <= score <= 1 or score == EXACT

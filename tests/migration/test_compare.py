"""What a comparison counts as lost, gained, misdated, and found."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START, episode, receipt
from tests.index.test_session_index import episode as session_episode
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents, Mention
from turnetl.base.model import Entity, Fact, SessionId, TurnId
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.session_level import SessionLevelData
from turnetl.llm.vectors import Matrix
from turnetl.migration.comparison import (
    FactDates,
    GroupComparison,
    ProbeResult,
    SearchProbe,
)
from turnetl.migration.matching import (
    EmbeddedFacts,
    FactStatement,
    OldData,
    compare,
    generated_probes,
    of_known_sessions,
    rank_of,
    read_probes,
    replaced_part,
    stated,
)
from turnetl.migration.run_comparison import verdict_reasons
from turnetl.settings.sections import MigrationSettings

S1, S2 = SessionId("s1"), SessionId("s2")
RECEIPTS = tuple(receipt(episode(name, session_id=S1)) for name in ("p0", "p1"))
MIGRATION = TurnMigration("0" * 8, GROUP, MigrationPhase.READY, (), (), (), START, START)
LIMITS = MigrationSettings(fact_similarity=0.6, min_expressed=0.5, min_probe_hits=0.9)


def entity(name: str) -> Entity:
    return Entity(f"uuid of {name}", GROUP, name, (), "", START)


def fact(text: str, source: str, target: str, *turns: str) -> Fact:
    ends = (entity(source).uuid, entity(target).uuid)
    named = tuple(map(TurnId, turns))
    return Fact(f"uuid of {text}", GROUP, *ends, "USES", text, named, START, START)


def old_data(*facts: Fact, names: Sequence[str], sessions: dict[str, SessionId]) -> OldData:
    episodes = {turn for one in facts for turn in one.turns} | {*sessions}
    data = SessionLevelData(
        GROUP,
        tuple(session_episode(one) for one in sorted(episodes)),
        tuple(map(entity, names)),
        facts,
        tuple(Mention(one, entity(name).uuid) for one in sorted(episodes) for name in names),
        frozenset(),
    )
    return OldData(data, sessions)


def new_data(*facts: Fact, names: Sequence[str]) -> GroupContents:
    return GroupContents(
        GROUP, None, tuple(map(entity, names)), facts, RECEIPTS, {RECEIPTS[0].turn_id: "four"}
    )


def one_hot(facts: Sequence[FactStatement], texts: Sequence[str]) -> Matrix:
    """Embed each distinct text as a direction of its own."""
    matrix = np.zeros((len(facts), len(texts)), dtype=np.float32)
    for row, one in enumerate(facts):
        matrix[row, texts.index(one.text)] = 1
    return matrix


def compared(old: OldData, new: GroupContents) -> GroupComparison:
    texts = sorted({one.text for one in (*old.data.facts, *new.facts)})
    facts = [
        EmbeddedFacts(said, one_hot(said, texts))
        for said in (stated(side.facts, side.entities) for side in (old.data, new))
    ]
    return compare(MIGRATION, old, new, *facts, similarity=0.6)


def group_of(found: GroupComparison, *probes: ProbeResult) -> GroupComparison:
    return replace(found, probes=probes)


KEPT = fact("cart rounds", "cart.py", "total", "e1")
GONE = fact("tax is due", "tax.py", "Norway", "e1")
STATED = fact("cart rounds", "src/cart.py", "pytest", RECEIPTS[0].turn_id)
OLD = old_data(KEPT, GONE, names=["cart.py", "total", "tax.py", "Norway"], sessions={"e1": S1})
NEW = new_data(STATED, names=["src/cart.py", "pytest"])


def test_a_fact_that_no_new_fact_says_is_lost_and_listed_with_the_nearest() -> None:
    [session] = compared(OLD, NEW).sessions
    [lost] = session.lost_facts
    assert (lost.text, lost.nearest, lost.shares_entity) == ("tax is due", "cart rounds", False)
    assert session.session_id == S1


def test_the_same_text_about_another_entity_does_not_express_a_fact() -> None:
    other = fact("cart rounds", "wheel.go", "axle", RECEIPTS[0].turn_id)
    new = new_data(replace(other, text="cart rounds"), names=["wheel.go", "axle"])
    named = replace(KEPT, text="it rounds")
    old = old_data(named, names=["cart.py", "total"], sessions={"e1": S1})
    [session] = compared(old, new).sessions
    assert [one.text for one in session.lost_facts] == ["it rounds"]


def test_entities_are_lost_unless_an_entity_or_a_fact_has_their_name() -> None:
    found = compared(OLD, NEW)
    assert found.entities_lost == ("Norway", "tax.py", "total")
    assert found.entities_gained == ("pytest",)
    said = replace(STATED, text="cart rounds the total")
    assert compared(OLD, new_data(said, names=["src/cart.py", "pytest"])).entities_lost == (
        "Norway",
        "tax.py",
    )


def test_facts_with_the_date_of_the_run_are_counted() -> None:
    late = replace(KEPT, valid_at=START + timedelta(days=90))
    undated = replace(GONE, valid_at=None)
    old = old_data(late, undated, names=["cart.py"], sessions={"e1": S1})
    [session] = compared(old, NEW).sessions
    assert session.old_dates == FactDates(facts=2, undated=1, outside=1)
    assert session.new_dates == FactDates(facts=1, undated=0, outside=0)


def test_old_data_without_a_session_are_a_row_of_their_own_and_sums_add_up() -> None:
    unknown = fact("Ada left", "Ada", "Norway", "e2")
    both = fact("shared", "cart.py", "total", "e2", "e1")
    names = ["cart.py", "total", "Ada", "Norway"]
    found = compared(old_data(KEPT, unknown, both, names=names, sessions={"e1": S1}), NEW)
    first, rest = found.sessions
    assert (first.session_id, rest.session_id) == (S1, None)
    assert (first.old.facts, rest.old.facts) == (2, 1)
    assert found.old.facts == 3
    assert group_of(found).lost_facts == 2


def test_a_session_without_a_turn_is_a_reason_to_refuse() -> None:
    old = old_data(KEPT, names=["cart.py"], sessions={"e1": S2})
    reasons = verdict_reasons(group_of(compared(old, NEW)), LIMITS, MigrationPhase.READY)
    assert "1 of the old sessions have no turn" in list(reasons)


def test_each_threshold_has_its_reason_and_a_good_comparison_none() -> None:
    found = compared(OLD, NEW)
    missed = ProbeResult(SearchProbe("q", (S1,)), 1, None)
    hit = ProbeResult(SearchProbe("q", (S1,)), None, 1)
    strict = MigrationSettings(fact_similarity=0.6, min_expressed=1, min_probe_hits=0.9)
    assert tuple(verdict_reasons(group_of(found, hit), LIMITS, MigrationPhase.READY)) == ()
    lost, unfound = verdict_reasons(group_of(found, missed, hit), strict, MigrationPhase.READY)
    assert "express 50% of 2 old facts, less than 100%" in lost
    assert "50% of 2 probes, less than 90%" in unfound
    [running] = verdict_reasons(group_of(found), LIMITS, MigrationPhase.RUNNING)
    assert "turns are missing" in running


@pytest.mark.parametrize(
    ("facts", "expressed", "is_refused"),
    [(5, 0, False), (25, 6, False), (53, 14, False), (30, 0, False), (40, 0, True), (100, 3, True)],
)
def test_a_share_of_a_few_facts_may_be_chance_and_refuses_nothing(
    facts: int, expressed: int, is_refused: bool
) -> None:
    old = [fact(f"a fact {number}", "x", "y", "e1") for number in range(facts)]
    said = [fact(one.text, "x", "y", RECEIPTS[0].turn_id) for one in old[:expressed]]
    new = new_data(*said, names=["x", "y"])
    found = compared(old_data(*old, names=["x", "y"], sessions={"e1": S1}), new)
    limits = MigrationSettings(fact_similarity=0.6, min_expressed=0.1, min_probe_hits=0)
    reasons = verdict_reasons(group_of(found), limits, MigrationPhase.READY)
    assert any("old facts" in reason for reason in reasons) is is_refused


def test_only_what_turns_replace_is_compared() -> None:
    data = OLD.data
    other = fact("note", "Ada", "lunch", "note")
    more = replace(
        data,
        episodes=(*data.episodes, session_episode("note")),
        facts=(*data.facts, other),
        entities=(*data.entities, entity("Ada"), entity("lunch")),
        mentions=(*data.mentions, Mention("note", entity("Ada").uuid)),
    )
    assert replaced_part(more, {"e1"}) == data


def test_an_empty_group_has_lost_nothing() -> None:
    empty = old_data(names=[], sessions={})
    group = group_of(compared(empty, NEW))
    assert (group.expressed, group.old_hit_rate, group.lost_facts) == (1.0, None, 0)
    assert generated_probes(empty) == []


def test_each_session_gives_a_probe_before_any_gives_two() -> None:
    facts = [fact(f"the cart has {n} lines", "a", "b", "e1") for n in range(9)]
    facts.append(fact("the tax is known", "a", "b", "e2"))
    facts.append(fact("short", "a", "b", "e2"))
    facts.append(fact("of no known session", "a", "b", "e3"))
    old = old_data(*facts, names=["a", "b"], sessions={"e1": S1, "e2": S2})
    probes = generated_probes(old, limit=3)
    assert sorted(probe.sessions for probe in probes[:2]) == [(S1,), (S2,)]
    assert len(probes) == 3
    assert generated_probes(old, limit=3) == probes


def test_the_rank_counts_distinct_sessions() -> None:
    probe = SearchProbe("q", (S1,))
    assert rank_of(probe, [S2, S2, None, S1]) == 3
    assert rank_of(probe, [S2]) is None


def test_a_file_of_questions_is_read_and_a_question_may_have_several_sessions(
    tmp_path: Path,
) -> None:
    path = tmp_path / "questions.tsv"
    path.write_text("question\tsession\nwhy?\ts1\nwhy?\ts2\n", encoding="utf-8")
    assert read_probes(path) == [SearchProbe("why?", (S1, S2))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"why?\ts1\n", "has no columns"),
        (b"question\tsession\n", "has no row"),
        (b"question\tsession\nwhy?\n", "line 2"),
        (b"question\tsession\n\ts1\n", "line 2"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"question\tsession\na\x00\t", "line 2"),
    ],
)
def test_a_file_of_questions_that_is_not_valid_names_the_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "questions.tsv"
    path.write_bytes(content)
    with pytest.raises(BadUsage, match=message):
        read_probes(path)


@given(st.binary(max_size=60))
def test_any_file_of_questions_is_read_or_refused(content: bytes) -> None:
    with NamedTemporaryFile() as file:
        file.write(b"question\tsession\n" + content)
        file.flush()
        with suppress(BadUsage):
            assert read_probes(Path(file.name))


def test_a_question_about_an_unknown_session_is_refused() -> None:
    groups = {GROUP: frozenset({S1})}
    assert of_known_sessions([SearchProbe("q", (S1,))], groups) == {
        GROUP: [SearchProbe("q", (S1,))]
    }
    with pytest.raises(BadUsage, match="no migration has the session `s2`"):
        of_known_sessions([SearchProbe("q", (S2,))], groups)

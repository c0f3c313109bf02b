"""A hit shows no line twice, and the facts for which its turn was selected."""

import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.index.indexed_shop import EMBEDDER
from tests.retrieval.searching import search_groups
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.index.conditions import Selection
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.repetition import distinct_facts, repeats_title, shown_text

TITLE = "Always write the changelog before you push anything to the server"
USER = Entity("e1", GROUP, "user", ("Person",), "", START)
CHANGELOG = Entity("e2", GROUP, "changelog", ("Preference",), "", START)
DECIDED = f"The user decided: {TITLE.upper()}. It is late"
PREFERS = f"The user prefers: {TITLE}"
EXPLAINED = "The server  rejects a push without a changelog."
SUMMARY = f"The agent decided: Done. {EXPLAINED} It took one commit."
RAN = "`git push` was run and passed"


def fact(text: str, relation: str = "DESCRIBED") -> Fact:
    return Fact(
        uuid=ids.digest(text),
        group_id=GroupId(GROUP),
        source=USER.uuid,
        target=CHANGELOG.uuid,
        relation=relation,
        text=text,
        turns=(builders.turn().turn_id,),
        created_at=START,
        valid_at=START,
    )


FACTS = (
    fact(DECIDED, "DECIDED"),
    fact(PREFERS, "PREFERS"),
    fact(EXPLAINED, "EXPLAINED"),
    fact(SUMMARY, "REJECTED"),
    fact(RAN, "RAN"),
)


async def hit(
    query: str, selection: Selection, answer: str = "Done.", facts: tuple[Fact, ...] = FACTS
) -> SearchHit:
    receipt = builders.receipt(builders.episode())
    text = f"user: {TITLE}\n\nassistant: {answer}"
    contents = GroupContents(
        GROUP, None, (USER, CHANGELOG), facts, (receipt,), {receipt.turn_id: text}
    )
    (found,) = await search_groups([contents], query, EMBEDDER, selection=selection)
    return found


@pytest.mark.full
@pytest.mark.parametrize("query", ["", "changelog", "git push"])
async def test_a_selected_fact_that_repeats_the_prompt_is_first(query: str) -> None:
    assert (await hit(query, Selection(relation="PREFERS"))).fact == PREFERS
    assert (await hit(query, Selection(relation="DECIDED"))).fact == DECIDED
    by_label = await hit(query, Selection(label="Preference", relation="explained"))
    assert by_label.fact == EXPLAINED


@pytest.mark.parametrize("query", ["", "changelog", "server rejects a push"])
async def test_a_hit_repeats_neither_its_prompt_nor_a_fact(query: str) -> None:
    found = await hit(query, Selection(groups=(GROUP,)))
    shown = [found.fact, *(more.fact for more in found.more_facts)]
    assert sorted(shown) == sorted([SUMMARY, RAN])


@pytest.mark.parametrize(
    ("query", "answer", "facts"),
    [
        ("changelog before you push", "Done.", FACTS),
        ("server rejects", EXPLAINED, FACTS),
        ("server rejects", EXPLAINED, ()),
    ],
    ids=["the prompt", "a fact", "the passage in place of a fact"],
)
async def test_a_passage_that_repeats_what_the_hit_says_is_left_out(
    query: str, answer: str, facts: tuple[Fact, ...]
) -> None:
    found = await hit(query, Selection(groups=(GROUP,)), answer, facts)
    assert found.passage == ""


async def test_a_passage_that_says_more_than_the_facts_is_kept() -> None:
    answer = f"{EXPLAINED} It does so with a hook in `hooks/pre-receive`."
    found = await hit("server rejects", Selection(groups=(GROUP,)), answer)
    assert found.passage == " ".join(answer.split())


def test_a_fact_that_says_more_takes_the_place_of_one_that_it_contains() -> None:
    short, other, long = fact(EXPLAINED), fact(RAN), fact(SUMMARY)
    assert distinct_facts([short, other, long], 5) == [long, other]
    assert distinct_facts([short, other, long], 5, {short.uuid}) == [short, other, long]
    assert distinct_facts([long, short, short, other], 2) == [long, other]


@pytest.mark.parametrize(
    ("text", "relation", "title", "expected"),
    [
        ("The user decided: fix  the TESTS…", "DECIDED", "Fix the tests, please", True),
        ("The user decided: fix the tests", "DECIDED", "fix the tes…", True),
        ("Asked “Shall I push?”, the user chose “push”", "DECIDED", "yes", False),
        ("`pytest` failed with `KeyError: 'price'`", "FAILED_WITH", "pytest", False),
        ("`src/a.py` was edited", "MODIFIED", "a.py was edited", False),
        ("The user decided: fix it", "DECIDED", "", False),
        ("…", "DESCRIBED", "…", False),
    ],
)
def test_a_fact_repeats_a_title_if_it_says_little_more(
    text: str, relation: str, title: str, *, expected: bool
) -> None:
    assert repeats_title(fact(text, relation), shown_text(title)) is expected


def test_the_name_of_a_file_in_another_folder_is_no_repetition() -> None:
    both = [fact("`src/a.py` was edited"), fact("`a.py` was edited")]
    assert distinct_facts(both, 5) == both

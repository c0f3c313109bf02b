"""A graph of three turns about a checkout, with one fact, as an index reads it."""

from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW, receipt, turn
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, TurnId
from turnetl.index.index_report import CatchUpReport
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import Field

FILE = Entity("e1", GROUP, "src/tax_rates.py", ("File",), "", START)
SESSION = Entity("e2", GROUP, "checkout", ("Concept",), "", START)
TEXTS = {
    "cart": "user: Why does the checkout test fail?\n\nassistant: The cart was empty.",
    "tax": "user: Add tax for Norway\n\nassistant: compute_tax knows it.",
    "docs": "user: Write the README\n\nassistant: Installation is described.",
}


def fact(text: str, *turns: str) -> Fact:
    return Fact(
        uuid=ids.digest(text),
        group_id=GROUP,
        source=FILE.uuid,
        target=SESSION.uuid,
        relation="MODIFIED",
        text=text,
        turns=tuple(turn(name) for name in turns),
        created_at=START,
        valid_at=START,
    )


EDITED = fact("`tax_rates.py` was edited", "tax")


def graph(*names: str, facts: tuple[Fact, ...] = (EDITED,)) -> LoadedGraph:
    """Return a graph whose group has these turns of `TEXTS`, a minute apart in one session."""
    return LoadedGraph(contents(*names, facts=facts))


def contents(*names: str, facts: tuple[Fact, ...] = (EDITED,)) -> GroupContents:
    """Return what the group of `graph` has."""
    return GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(FILE, SESSION),
        facts=facts,
        receipts=tuple(receipt(name, list(TEXTS).index(name)) for name in names),
        texts={turn(name): TEXTS[name] for name in names},
    )


async def follow(index: PersistentIndex, *names: str) -> CatchUpReport:
    return await index.catch_up(graph(*names), EMBEDDER, now=NOW)


def with_term(index: PersistentIndex, term: str, field: Field = Field.TEXT) -> set[TurnId]:
    found = index.term_shares(field, {term: 1.0}, None, limit=10)
    return {held.receipt.turn_id for held in index.turns(found).values()}

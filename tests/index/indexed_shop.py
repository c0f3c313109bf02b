"""A small project in the states before and after a run, and all that an index answers about it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import Entity, Fact, SessionId, TurnId
from turnetl.base.terms import Tokenizer
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import Field
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.vectors import unpack

EMBEDDER = WordLlamaEmbedder()
NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXTS: Mapping[str, str] = {
    "cart": "user: Why does the checkout test fail?\n\nassistant: The cart was empty.",
    "tax": "user: Add tax for Norway\n\nassistant: compute_tax knows it.",
    "docs": "user: Write the README\n\nassistant: Installation is described.",
    "refund": "user: Refund an order\n\nassistant: The payment is sent back.",
}
_CART = Entity("e1", GROUP, "src/cart.py", ("File",), "holds the lines of an order", START)
_TAX = Entity("e2", GROUP, "src/tax.py", ("File",), "", START)


class Killed(BaseException):
    """The end of the process."""


def turn(name: str) -> TurnId:
    return ids.turn_id(GROUP, "claude_code", name)


def receipt(name: str, minute: int) -> Receipt:
    """Return the receipt of a turn; `minute` is its start, in minutes after the first turn."""
    return builders.receipt(
        builders.episode(
            name,
            session_id=SessionId("s1"),
            ordinal=minute,
            started_at=START + timedelta(minutes=minute),
        )
    )


def before() -> LoadedGraph:
    """Return the graph with the turns `cart` and `tax`, and a fact of both."""
    return _graph({"cart": 1, "tax": 2}, _fact("cart", "tax"))


def after() -> LoadedGraph:
    """Return the graph without `cart`, with `tax` committed again, and two more turns."""
    return _graph({"tax": 3, "docs": 4, "refund": 5}, _fact("tax", "refund"))


def open_index(folder: Path, **arguments: Any) -> PersistentIndex:
    return PersistentIndex(folder, EMBEDDER.name, EMBEDDER.dimensions, **arguments)


async def written_index(folder: Path) -> Path:
    """Write the index of `before` into a folder, and return the folder."""
    index = open_index(folder)
    await index.catch_up(before(), EMBEDDER, now=NOW)
    index.close()
    return folder


async def answers(index: PersistentIndex) -> dict[str, Any]:
    """Return everything that an index answers, by the names of turns instead of keys."""
    keys = index.select(Selection())
    names = {turn(name): name for name in TEXTS}
    held = index.turns(range(1, 20))
    named = {key: names[one.receipt.turn_id] for key, one in held.items()}
    tokenizer = Tokenizer()
    terms = sorted({term for text in TEXTS.values() for term in tokenizer.count(text)})
    passages = index.passage_tokens(keys)
    frequencies, turns = index.token_frequencies(sorted(set(passages.tokens.tolist())))
    return {
        "turns": {named[key]: (one.receipt, one.text) for key, one in held.items()},
        "previous": {named[key]: named[one.previous] for key, one in held.items() if one.previous},
        "selected": sorted(named[key] for key in keys.tolist()),
        "by file": sorted(named[key] for key in index.select(Selection(file="cart.py")).tolist()),
        "facts": {named[key]: facts for key, facts in index.facts(keys.tolist()).items()},
        "terms": {
            (field, term): {
                named[key]: round(share, 5)
                for key, share in index.term_shares(field, {term: 1.0}, None, limit=9).items()
            }
            for field in Field
            for term in terms
        },
        "similar": [
            {
                named[key]: round(cosine, 5)
                for key, cosine in index.similarities(unpack(vector), None, limit=9).items()
            }
            for vector in await EMBEDDER.embed([*TEXTS.values()])
        ],
        "tokens": (
            [named[key] for key in passages.keys.tolist()],
            passages.weights.tolist(),
            passages.tokens.tolist(),
            passages.starts.tolist(),
        ),
        "frequencies": (frequencies.tolist(), turns),
    }


def _fact(*turns: str) -> Fact:
    return Fact(
        uuid=ids.digest("edited"),
        group_id=GROUP,
        source=_CART.uuid,
        target=_TAX.uuid,
        relation="MODIFIED",
        text="`cart.py` reads the rates of `tax.py`",
        turns=tuple(turn(name) for name in turns),
        created_at=START,
        valid_at=START,
    )


def _graph(sequences: Mapping[str, int], fact: Fact) -> LoadedGraph:
    contents = GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(_CART, _TAX),
        facts=(fact,),
        receipts=tuple(receipt(name, list(TEXTS).index(name)) for name in sequences),
        texts={turn(name): TEXTS[name] for name in sequences},
    )
    return LoadedGraph(
        contents, sequences={turn(name): number for name, number in sequences.items()}
    )

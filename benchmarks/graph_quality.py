"""How good the graph is that the structural extractor makes of the labelled sessions.

    python -m benchmarks.graph_quality [--errors] [--show RELATION|all] [--sample N] [--others]

Ingests the labelled archives into a graph of its own and compares its facts and entities with
benchmarks/graph_quality_labels, by the rules of its guide.md. The table has the sessions of the
part `tune` and of the part `unseen`, each with a 95 % Wilson interval. They are those that were
read whole: what is in no label is wrong, what says a label again is counted apart, and what readers
could judge either way counts neither way. A label is found by key terms: a statement in quite other
words counts as missed and wrong.

`--errors` prints the misses and false ones, `--show` the facts of a relation with their lines, both
of the part `tune` only; `--sample` draws from these facts, and `--others` takes them from the
archives without labels. The default archives are those of tests/real_archives.py.
"""

import argparse
import asyncio
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from benchmarks import graph_quality_matching as matching
from benchmarks.graph_quality_labels import (
    NOT_AN_ENTITY,
    RELATIONS,
    DecisionLabel,
    EditLabel,
    ErrorLabel,
    GraphLabels,
    IntentLabel,
    graph_labels,
)
from benchmarks.graph_quality_matching import GraphEntity, GraphFact
from tests import real_archives
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.base.model import Entity, Fact
from turnetl.episode_text.conversation import from_episode_text
from turnetl.episode_text.intents import MAX_CHARS, intent
from turnetl.episode_text.outcomes import outcome
from turnetl.evaluation.intervals import wilson
from turnetl.ingestion import plan
from turnetl.lake import Lake
from turnetl.settings import Settings

ARCHIVES = real_archives.ARCHIVES
SPLITS = ("tune", "unseen")
OTHERS = "others"
_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    archive: str
    line: int
    """The first of the turn."""

    def __str__(self) -> str:
        return f"{self.archive}:{self.line}"


@dataclass
class Session:
    """The turns of a session, in order, and what the graph has of them."""

    split: str
    places: dict[str, TurnPlace] = field(default_factory=dict)
    """The first of each turn, by its id."""
    turns: dict[TurnPlace, str] = field(default_factory=dict)
    """The turn at each of its places."""
    kept: int = 0
    """Turns that are no noise."""
    texts: dict[str, str] = field(default_factory=dict)
    """Of these, by their ids."""
    facts: list[GraphFact] = field(default_factory=list)
    entities: dict[str, GraphEntity] = field(default_factory=dict)
    """Mentioned or in a fact."""


@dataclass
class Table:
    """Shares by title and part, and the lines that `--errors` prints."""

    rows: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, title: str, split: str, part: int, whole: int) -> None:
        counts = self.rows.setdefault(title, {name: Counter() for name in SPLITS})
        counts[split].update(part=int(part), whole=whole)

    def error(self, session: Session, what: str, place: object, text: str) -> None:
        if session.split == "tune":
            self.errors.append(f"{what:22} {place}  {text}")

    def lines(self) -> Iterator[str]:
        yield f"{'':44} {'tune':>26} {'unseen':>26}"
        for title, counts in self.rows.items():
            yield f"{title:44} " + " ".join(f"{_share(counts[name]):>26}" for name in SPLITS)


def _share(counts: Counter[str]) -> str:
    part, whole = counts["part"], counts["whole"]
    if part > whole:
        return f"{part / max(1, whole):.2f} ({part}/{whole})"
    low, high = wilson(part, whole)
    share = f"{part / whole:.2f} [{low:.2f} {high:.2f}]" if whole else "-"
    return f"{share} {part}/{whole}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", action="store_true", help="misses and false ones of `tune`")
    parser.add_argument("--show", metavar="RELATION", help="facts of a relation, or `all`")
    parser.add_argument("--sample", type=int, metavar="N", help="of the shown facts, N at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--others", action="store_true", help="show facts without labels")
    given = parser.parse_args()
    if not ARCHIVES.is_dir():
        print("Nothing to measure: the archives of the labels are missing.")
        return
    labels = graph_labels()
    archives = [str(ARCHIVES / row.archive) for row in labels.sessions if row.read == "whole"]
    if given.others:
        archives = [str(path) for path in sorted(ARCHIVES.iterdir()) if path.is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        sessions = asyncio.run(read_sessions(archives, labels, Settings(lake=Path(folder))))
    if given.show:
        split = OTHERS if given.others else "tune"
        lines = sorted(_shown(sessions.values(), split, given.show))
        count = len(lines) if given.sample is None else min(given.sample, len(lines))
        print(*random.Random(given.seed).sample(lines, count), sep="\n")
        return
    table = measure(sessions, labels)
    print(*(table.errors if given.errors else table.lines()), sep="\n")


def _shown(sessions: Iterable[Session], split: str, relation: str) -> Iterator[str]:
    for session in sessions:
        for fact in session.facts if session.split == split else ():
            if relation in (fact.relation, "all"):
                yield f"{described(fact)}  @ {session.places[fact.turn]}"


def described(fact: GraphFact) -> str:
    ends = (f"{'/'.join(sorted(end.labels))} `{end.name}`" for end in (fact.source, fact.target))
    dates = f"{fact.valid_at:%m-%d %H:%M}" if fact.valid_at else "?"
    dates += f" until {fact.invalid_at:%m-%d %H:%M}" if fact.invalid_at else ""
    more = " ".join(f"{name}={value}" for name, value in sorted(fact.attributes.items()))
    return " ".join(f"{fact.relation}: {' -> '.join(ends)} | {fact.text} | {dates} {more}".split())


async def read_sessions(
    archives: Sequence[str], labels: GraphLabels, settings: Settings
) -> dict[str, Session]:
    """Ingest the archives; return labelled sessions by name, and all others as one, `others`."""
    options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
    report = await pipeline.backfill(archives, settings, options, now)
    for ingested in report.ingested.groups:
        if ingested.error or ingested.quarantined:
            print(f"{ingested.group}: {ingested.quarantined} turns failed; {ingested.error or ''}")
    read = [row for row in labels.sessions if row.read == "whole"]
    sessions = {row.session: Session(row.split) for row in read} | {OTHERS: Session(OTHERS)}
    named = {row.archive: row.session for row in read}
    turns = _turns(Lake(settings.lake), named, sessions)
    async with wiring.store(settings, write=False) as graph:
        for group in await graph.groups():
            contents = await graph.load(group)
            entities = {entity.uuid: _entity(entity) for entity in contents.entities}
            for fact in contents.facts:
                turns[fact.turns[0]].facts.append(_fact(fact, entities))
            for record in await graph.commit_records(group):
                session = turns[record.receipt.turn_id]
                session.kept += 1
                session.texts[record.receipt.turn_id] = contents.texts[record.receipt.turn_id]
                used = {*record.mentions, *record.endpoints} & {*entities}
                session.entities.update({uuid: entities[uuid] for uuid in used})
    return sessions


def _turns(
    lake: Lake, named: Mapping[str, str], sessions: Mapping[str, Session]
) -> dict[str, Session]:
    """Add the places of each turn to its session; return the session of each turn."""
    turns: dict[str, Session] = {}
    columns = ("turn_id", "archive", "first_line")
    tables = (lake.scan_turns(group) for group in lake.groups() if lake.turn_paths(group))
    rows = (row for table in tables for row in table.select(columns).collect().iter_rows())
    places = [(turn, TurnPlace(str(Path(path).relative_to(ARCHIVES)), line))
              for turn, path, line in rows]  # fmt: skip
    # A turn of a labelled archive may stand in others, too, on other lines.
    for turn, place in sorted(
        places, key=lambda row: (row[1].archive not in named, row[1].archive, row[1].line)
    ):
        session = turns.setdefault(turn, sessions[named.get(place.archive, OTHERS)])
        session.places.setdefault(turn, place)
        session.turns[place] = turn
    return turns


def _entity(entity: Entity) -> GraphEntity:
    aliases = re.split(r"[|\n]", str(entity.attributes.get("aliases", "")))
    labels = frozenset(entity.labels)
    return GraphEntity(
        entity.uuid, entity.name, labels, entity.summary, tuple(filter(None, aliases))
    )


def _fact(fact: Fact, entities: Mapping[str, GraphEntity]) -> GraphFact:
    return GraphFact(
        turn=fact.turns[0],
        source=entities[fact.source],
        relation=fact.relation,
        target=entities[fact.target],
        text=fact.text,
        valid_at=fact.valid_at,
        invalid_at=fact.invalid_at,
        attributes=fact.attributes,
    )


def measure(sessions: Mapping[str, Session], labels: GraphLabels) -> Table:
    """Compare all labelled sessions with their labels."""
    table = Table()
    for name, session in sessions.items():
        if name != OTHERS:
            _measure_facts(table, session)
            _measure_statements(table, session, _of(labels.decisions, session))
            _measure_edits(table, session, _of(labels.edits, session))
            _measure_failures(table, session, _of(labels.errors, session))
            _measure_entities(table, session, labels, name)
            _measure_titles(table, session, _of(labels.intents, session))
    return table


Labelled = TypeVar("Labelled", DecisionLabel, EditLabel, ErrorLabel, IntentLabel)


def _of(labels: Iterable[Labelled], session: Session) -> list[tuple[str, Labelled]]:
    """Return the labels of a session with their turns."""
    places = ((TurnPlace(label.archive, label.turn_line), label) for label in labels)
    return [(session.turns[place], label) for place, label in places if place in session.turns]


def _measure_facts(table: Table, session: Session) -> None:
    split = session.split
    table.add("facts a turn", split, len(session.facts), session.kept)
    known = [fact for fact in session.facts if fact.relation in matching.SIGNATURES]
    table.add("facts of a known relation", split, len(known), len(session.facts))
    signed = [fact for fact in known if matching.has_signature(fact)]
    table.add("  of these with the right labels", split, len(signed), len(known))
    for fact in session.facts:
        if fact not in signed:
            table.error(session, "SIGNATURE", session.places[fact.turn], described(fact))
    for relation in matching.SIGNATURES:
        count = sum(fact.relation == relation for fact in session.facts)
        table.add(f"  share {relation}", split, count, len(session.facts))


def _measure_statements(
    table: Table, session: Session, labels: Sequence[tuple[str, DecisionLabel]]
) -> None:
    order = {turn: number for number, turn in enumerate(session.places)}

    def is_same(fact: GraphFact, labelled: tuple[str, DecisionLabel]) -> bool:
        # What one turn proposes is stated in the next one, which accepts it.
        turn, label = labelled
        return order[fact.turn] - order[turn] in (0, 1) and matching.states(fact, label)

    said = [fact for fact in session.facts if fact.relation in matching.KINDS]
    matched = matching.match(said, sorted(labels, key=lambda row: row[1].borderline), is_same)
    split, found = session.split, [pair for pair in matched.pairs if not pair[1][1].borderline]
    for kind in ("", *matching.KINDS.values()):
        mine = [(fact, label) for fact, (_, label) in found if kind in ("", label.kind)]
        wrong = [fact for fact in matched.wrong if kind in ("", matching.KINDS[fact.relation])]
        wanted = [label for _, label in labels
                  if not label.borderline and kind in ("", label.kind)]  # fmt: skip
        title = kind.replace("_", " ") or "statements"
        table.add(f"{title}: precision", split, len(mine), len(mine) + len(wrong))
        table.add(f"{title}: recall", split, len(mine), len(wanted))
    spoken = sum(matching.speaker(fact) == label.speaker for fact, (_, label) in found)
    table.add("  right speaker, of those found", split, spoken, len(found))
    table.add("  repetitions, of all", split, len(matched.repeated), len(said))
    for turn, label in matched.missed:
        if not label.borderline:
            text = f"{label.kind} {label.speaker}: {label.statement} [{' '.join(label.key_terms)}]"
            table.error(session, f"MISSED {label.id}", session.places[turn], text)
    for fact in matched.wrong:
        table.error(session, "FALSE statement", session.places[fact.turn], described(fact))
    _measure_supersession(table, session, matched.pairs, labels)


def _measure_supersession(
    table: Table,
    session: Session,
    found: Sequence[tuple[GraphFact, tuple[str, DecisionLabel]]],
    labels: Sequence[tuple[str, DecisionLabel]],
) -> None:
    """Count the decisions that a later one ends: how many are ended, and which are not to be."""
    superseded = {label.supersedes for _, label in labels} - {""}
    of_label = {label.id: fact for fact, (_, label) in found}
    kinds = {*matching.KINDS} - {"REPORTED"}
    ended = [fact for fact in session.facts if fact.relation in kinds and fact.invalid_at]
    right = [name for name in superseded if of_label.get(name) in ended]
    table.add("supersessions: recall", session.split, len(right), len(superseded))
    table.add("  right, of all ended", session.split, len(right), len(ended))
    for name in sorted(superseded - {*right}):
        table.error(session, "NOT ENDED", name, "" if name in of_label else "(not found)")
    for fact in ended:
        if all(of_label[name] != fact for name in right):
            table.error(session, "ENDED", session.places[fact.turn], described(fact))


def _measure_edits(table: Table, session: Session, labels: Sequence[tuple[str, EditLabel]]) -> None:
    table.add("edits: recall", session.split, 0, 0)
    for relation in sorted(RELATIONS):
        table.add(f"  {relation}: recall", session.split, 0, 0)
    for turn, label in labels:
        facts = [fact for fact in session.facts if fact.turn == turn]
        is_found = any(matching.is_edit(fact, label) for fact in facts)
        for title in ("edits", f"  {label.relation}"):
            table.add(f"{title}: recall", session.split, is_found, 1)
        if not is_found:
            text = f"{label.subject} -> {label.object}: {label.statement}"
            table.error(session, f"MISSED {label.id} {label.relation}", session.places[turn], text)


def _measure_failures(
    table: Table, session: Session, labels: Sequence[tuple[str, ErrorLabel]]
) -> None:
    split = session.split
    failures = [fact for fact in session.facts if fact.relation == "FAILED_WITH"]
    failures.sort(key=lambda fact: (fact.valid_at is None, fact.valid_at))
    real = [row for row in labels if row[1].is_error]
    matched = matching.match(failures, real, _is_failure)
    found = len(matched.pairs)
    table.add("failures: precision", split, found, found + len(matched.wrong))
    table.add("  repetitions, of all", split, len(matched.repeated), len(failures))
    for fact in matched.wrong:
        table.error(session, "FALSE error", session.places[fact.turn], described(fact))
    table.add("failures: recall", split, len(matched.pairs), len(real))
    table.add("  right resolution, of those found", split, 0, 0)
    for _, label in matched.missed:
        place = f"{label.archive}:{label.line}"
        table.error(session, f"MISSED {label.id}", place, f"{label.identity} ({label.resolution})")
    for turn, label in (row for row in labels if not row[1].is_error):
        is_taken = any(_is_failure(fact, (turn, label)) for fact in matched.wrong)
        table.add("  what is none and became an error", split, is_taken, 1)
    for fact, (_, label) in matched.pairs:
        is_right = _is_right_resolution(fact, label, session.facts)
        table.add("  right resolution, of those found", split, is_right, 1)
        if not is_right:
            ended = matching.resolution(fact, session.facts)
            text = f"{label.resolution} at {label.resolving_line}, not {ended}: {described(fact)}"
            place = f"{label.archive}:{label.line}"
            table.error(session, f"RESOLUTION {label.id}", place, text)


def _is_failure(fact: GraphFact, labelled: tuple[str, ErrorLabel]) -> bool:
    return fact.turn == labelled[0] and matching.is_failure(fact, labelled[1])


def _is_right_resolution(fact: GraphFact, label: ErrorLabel, facts: Iterable[GraphFact]) -> bool:
    if matching.resolution(fact, facts) != label.resolution:
        return False
    if label.resolving_line is None or fact.invalid_at is None:
        return label.resolving_line is None
    rows = (ARCHIVES / label.resolving_archive).read_text(encoding="utf-8").split("\n")
    begin, end = matching.call_times(rows[label.resolving_line - 1 :])
    return begin is None or begin - _MOMENT <= fact.invalid_at <= (end or begin) + _MOMENT


def _measure_entities(table: Table, session: Session, labels: GraphLabels, name: str) -> None:
    split, entities = session.split, session.entities.values()
    archives = {row.archive for row in labels.sessions if row.session == name}
    for label in (row for row in labels.entities if row.archive in archives):
        place = f"{label.archive}:{label.line}"
        found = [entity for entity in entities if matching.is_entity(entity, label)]
        if label.label == NOT_AN_ENTITY:
            table.add("entities: strings that are none, taken", split, bool(found), 1)
            if found:
                labels_found = "/".join(sorted(found[0].labels))
                table.error(session, f"NONE {label.id}", place, f"{labels_found} {label.name}")
            continue
        has_label = any(label.label in entity.labels for entity in found)
        table.add("entities: recall of real ones", split, bool(found), 1)
        if found:
            table.add("  right label, of those found", split, has_label, 1)
        if not has_label:
            seen = [f"{'/'.join(sorted(one.labels))} {one.name}" for one in found]
            table.error(session, f"{'LABEL' if found else 'MISSED'} {label.id}", place,
                        f"{label.label} {label.name} {seen or ''}")  # fmt: skip
    names = [entity.name for entity in entities]
    second = matching.spellings(names)
    table.add("entities that are no second spelling", split, len(names) - second, len(names))
    summaries = sum(bool(entity.summary) for entity in entities)
    table.add("entities with a summary", split, summaries, len(names))


def _measure_titles(
    table: Table, session: Session, labels: Sequence[tuple[str, IntentLabel]]
) -> None:
    """Count the words of the labels that titles have: a lower bound, as they are in other words."""
    turns = {turn: from_episode_text(text) for turn, text in _in_order(session)}
    before = dict(zip([*turns][1:], turns.values(), strict=False))
    for turn, label in labels:
        if turn not in turns:
            continue
        found = turns[turn]
        for title, wanted, shown in (
            ("words of intents in the prompt's beginning", label.intent, found.prompt[:MAX_CHARS]),
            ("words of intents in titles", label.intent, intent(found, before.get(turn))),
            ("words of outcomes in titles", label.outcome, outcome(found)),
        ):
            words = _stems(wanted)
            table.add(title, session.split, len(words & _stems(shown)), len(words))


def _in_order(session: Session) -> list[tuple[str, str]]:
    return [(turn, session.texts[turn]) for turn in session.places if turn in session.texts]


def _stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z0-9_]{4,}", text.lower())}


if __name__ == "__main__":
    main()

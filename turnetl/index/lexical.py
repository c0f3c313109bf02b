"""The words of turns and passages, in two tantivy indexes.

Two, because BM25 compares the length of a text with the mean over all texts of its index. Texts are
split into terms before they are indexed; tantivy only splits at spaces. A commit is atomic, and
readers see the last one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.index.files import LEXICAL, DamagedFile, delete_folder, no_step
from turnetl.index.port import NO_ALTERNATIVES, Alternatives, Field, Keys

_ANALYZER = "spaces"
_KEY = "key"
_PANIC = "PanicException"
"""What a library in Rust raises where it would end the process; it cannot be imported."""
_META = "meta.json"
"""Tantivy's list of the files of an index."""
_LOCKS = (".tantivy-meta.lock", ".tantivy-writer.lock")
_TURNS, _PASSAGES = "turns", "passages"
_FIELDS: Mapping[str, tuple[Field, ...]] = {
    _TURNS: (Field.TEXT, Field.PROMPT, Field.FACTS),
    _PASSAGES: (Field.PASSAGE,),
}
_K1 = 1.2
"""Tantivy's own constant; no term scores more than its weight times `_K1` + 1."""
_WRITER_BYTES = 15_000_000
"""Tantivy's least. More are touched even by a few turns, and make no batch faster."""
_MAX_SELECTED = 20_000
"""More selected turns than this are filtered after the search."""
_MORE = 8
"""As many times the hits are read if too few of them are wanted."""
_PASSAGES_PER_TURN = 8
"""Hits read for each turn wanted: a turn has several passages."""
_ALTERNATIVE = 0.5
"""How much a word that stands for one of the query counts, at most, relative to that one."""


@contextmanager
def _damage() -> Iterator[None]:
    """Raise errors of tantivy as damage; also a panic, which is no `Exception`."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, ValueError):
            raise DamagedFile(str(error)) from error
        if type(error).__name__ == _PANIC:
            raise DamagedFile(f"the words in `{LEXICAL}` cannot be read: {error}") from error
        raise


@dataclass(frozen=True, slots=True)
class TurnTerms:
    """The terms of one turn, by field; those of its passages as one text each."""

    key: int
    fields: Mapping[Field, str]
    """Terms separated by spaces."""
    passages: Sequence[str]


class LexicalIndex:
    def __init__(
        self, folder: Path, *, create: bool, before_step: Callable[[str], None] = no_step
    ) -> None:
        """Open the indexes, or create them; raise DamagedFile if they are missing or damaged."""
        self._before_step, self._folder = before_step, folder
        if not create and not all((folder / kind / _META).exists() for kind in _FIELDS):
            raise DamagedFile(f"`{folder.name}` is missing")
        with _damage():
            self._indexes = {
                kind: _open(folder / kind, fields, create=create)
                for kind, fields in _FIELDS.items()
            }

    def add(self, turns: Sequence[TurnTerms], last_key: int) -> None:
        """Add turns with keys above the catalog's last one; remove what else has such keys."""
        documents = [*map(_documents, turns)]
        for kind in self._indexes:
            with self._writer(kind) as writer:
                writer.delete_documents_by_query(self._later_than(kind, last_key))
                for of_turn in documents:
                    for document in of_turn[kind]:
                        writer.add_document(document)

    def rewrite(self, turns: Iterable[TurnTerms]) -> None:
        """Replace all turns by these. A process that is killed leaves the old ones of some kind."""
        with self._writer(_TURNS) as of_turns, self._writer(_PASSAGES) as of_passages:
            writers = {_TURNS: of_turns, _PASSAGES: of_passages}
            for writer in writers.values():
                writer.delete_all_documents()
            for turn in turns:
                for kind, documents in _documents(turn).items():
                    for document in documents:
                        writers[kind].add_document(document)

    def remove(self, keys: Iterable[int]) -> None:
        removed = list(keys)
        for kind, index in self._indexes.items():
            with self._writer(kind) as writer:
                # `delete_documents_by_term` finds no unsigned integer.
                selected = tantivy.Query.term_set_query(index.schema, _KEY, removed)
                writer.delete_documents_by_query(selected)

    def has_later_than(self, last_key: int) -> bool:
        return any(
            index.searcher().search(self._later_than(kind, last_key), 1, count=False).hits
            for kind, index in self._indexes.items()
        )

    @_damage()
    def counts(self, last_key: int) -> tuple[int, int]:
        """Return the numbers of turns and passages with words, up to the catalog's highest key."""
        turns, passages = (
            _count(index.searcher().search(self._up_to(kind, last_key), 1, count=True))
            for kind, index in self._indexes.items()
        )
        return turns, passages

    def reload(self) -> None:
        """Read what another process committed."""
        try:
            for index in self._indexes.values():
                index.reload()
        except ValueError as error:
            raise OSError(f"the words cannot be read: {error}") from error

    @_damage()
    def term_shares(
        self,
        field: Field,
        terms: Mapping[str, float],
        limit: int,
        is_wanted: Callable[[Keys], NDArray[np.bool_]],
        keys: Keys | None,
        *,
        alternatives: Alternatives = NO_ALTERNATIVES,
    ) -> dict[int, float]:
        """See `PersistentIndex.term_shares`; `is_wanted` tells which turns may be returned."""
        kind = _PASSAGES if field is Field.PASSAGE else _TURNS
        index = self._indexes[kind]
        searcher = index.searcher()
        weights = {term: weight for term, weight in terms.items() if weight > 0}
        maximum = sum(
            weight * idf(searcher.doc_freq(field.value, term), searcher.num_docs)
            for term, weight in weights.items()
        ) * (_K1 + 1)
        if (
            limit < 1
            or not searcher.num_docs
            or not maximum
            or (keys is not None and not len(keys))
        ):
            return {}
        query = _any_of(searcher, index.schema, field, weights, alternatives)
        if keys is not None and len(keys) <= _MAX_SELECTED:
            query = _restricted(query, _selected(index.schema, keys))
        elif keys is not None:
            is_wanted = _both(is_wanted, keys)
        count = limit * (_PASSAGES_PER_TURN if kind == _PASSAGES else 1)
        while True:
            best, is_all = _best(searcher, query, count, is_wanted)
            if is_all or len(best) >= limit:
                return {key: score / maximum for key, score in list(best.items())[:limit]}
            count *= _MORE

    @_damage()
    def session_term_shares(
        self,
        terms: Mapping[str, float],
        keys: Keys,
        sessions: NDArray[np.intp],
        alternatives: Alternatives,
    ) -> NDArray[np.float64]:
        """See `PersistentIndex.session_term_shares`: the shares of the sessions, by their numbers.

        `keys` are all turns of the sessions, each with the number of its own in `sessions`.
        """
        index, field = self._indexes[_TURNS], Field.TEXT
        searcher = index.searcher()
        shares, total = np.zeros(sessions.max(initial=-1) + 1), 0.0
        selected = _selected(index.schema, keys)

        def containing(query: tantivy.Query) -> NDArray[np.intp]:
            wanted = _restricted(query, selected)
            hits = searcher.search(wanted, max(1, len(keys)), count=False).hits
            found = searcher.fast_field_values(_KEY, [address for _, address in hits])
            return np.unique(sessions[np.searchsorted(keys, np.array(found, dtype=np.int64))])

        for term, given in terms.items():
            weight = given * idf(searcher.doc_freq(field.value, term), searcher.num_docs)
            if weight <= 0:
                continue
            total += weight
            of_term = np.zeros(len(shares))
            if others := alternatives.get(term):
                of_others = [_all_of(index.schema, field, other) for other in others]
                of_term[containing(_either(of_others))] = _ALTERNATIVE
            of_term[containing(_term(index.schema, field, term))] = 1.0
            shares += weight * of_term
        return shares / total if total else shares

    def term_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        searcher = self._indexes[_TURNS].searcher()
        return {term: searcher.doc_freq(Field.TEXT.value, term) for term in terms}

    @_damage()
    def has_terms(self, key: int, field: Field, terms: Collection[str]) -> bool:
        """Return whether the turn has all these terms in one text of the field."""
        index = self._indexes[_PASSAGES if field is Field.PASSAGE else _TURNS]
        wanted = tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, _term(index.schema, field, term)) for term in terms]
        )
        query = _restricted(wanted, _selected(index.schema, np.array([key], dtype=np.int64)))
        return bool(index.searcher().search(query, 1, count=False).hits)

    @contextmanager
    def _writer(self, kind: str) -> Iterator[tantivy.IndexWriter]:
        """Commit at the end of the block."""
        self._before_step(f"{LEXICAL}/{kind}")
        _check_locks(self._folder / kind)
        try:
            writer = self._indexes[kind].writer(_WRITER_BYTES, 1)
            # A killed writer may have left a file that has the name of one to come.
            writer.garbage_collect_files()
            yield writer
            writer.commit()
            writer.wait_merging_threads()
            self._indexes[kind].reload()
        except ValueError as error:
            raise OSError(f"the words cannot be written: {error}") from error

    def _up_to(self, kind: str, key: int) -> tantivy.Query:
        schema = self._indexes[kind].schema
        return tantivy.Query.range_query(schema, _KEY, tantivy.FieldType.Unsigned, 0, key)

    def _later_than(self, kind: str, key: int) -> tantivy.Query:
        schema = self._indexes[kind].schema
        return tantivy.Query.range_query(
            schema, _KEY, tantivy.FieldType.Unsigned, key, include_lower=False
        )


def _count(result: Any) -> int:
    return int(result.count)


def _best(
    searcher: tantivy.Searcher,
    query: tantivy.Query,
    count: int,
    is_wanted: Callable[[Keys], NDArray[np.bool_]],
) -> tuple[dict[int, float], bool]:
    """Return the turns of the best `count` hits with their scores, and whether these are all."""
    hits = searcher.search(query, min(count, searcher.num_docs), count=False).hits
    found = searcher.fast_field_values(_KEY, [address for _, address in hits])
    keys = np.array(found, dtype=np.int64)
    wanted = is_wanted(keys)
    scores = np.array([score for score, _ in hits], dtype=np.float64)[wanted]
    turns, firsts = np.unique(keys[wanted], return_index=True)
    order = np.argsort(firsts)
    best = dict(zip(turns[order].tolist(), scores[firsts[order]].tolist(), strict=True))
    return best, len(hits) < count


def _both(
    is_wanted: Callable[[Keys], NDArray[np.bool_]], selected: Keys
) -> Callable[[Keys], NDArray[np.bool_]]:
    return lambda found: is_wanted(found) & np.isin(found, selected)


def _selected(schema: tantivy.Schema, keys: Keys) -> tantivy.Query:
    """Return a query for these turns that adds nothing to a score."""
    turns = tantivy.Query.term_set_query(schema, _KEY, keys.tolist())
    return tantivy.Query.const_score_query(turns, 0.0)


def _restricted(query: tantivy.Query, selected: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, query), (tantivy.Occur.Must, selected)]
    )


def _open(folder: Path, fields: Sequence[Field], *, create: bool) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(_KEY, indexed=True, fast=True)
    for field in fields:
        builder.add_text_field(field.value, tokenizer_name=_ANALYZER, index_option="freq")
    if create:
        private_files.create_folder(folder, folder.parent.parent)
    _check_locks(folder)
    index = tantivy.Index(builder.build(), str(folder))
    spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(_ANALYZER, spaces)
    return index


def _check_locks(folder: Path) -> None:
    """Raise OSError if a lock of Tantivy, which follows links, is a symbolic link."""
    for name in _LOCKS:
        private_files.check_no_link(folder / name)


def _documents(turn: TurnTerms) -> Mapping[str, Sequence[tantivy.Document]]:
    passages = [_document(turn.key, {Field.PASSAGE: passage}) for passage in turn.passages]
    return {_TURNS: [_document(turn.key, turn.fields)], _PASSAGES: passages}


def _document(key: int, fields: Mapping[Field, str]) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned(_KEY, key)
    for field, terms in fields.items():
        document.add_text(field.value, terms)
    return document


def _any_of(
    searcher: tantivy.Searcher,
    schema: tantivy.Schema,
    field: Field,
    weights: Mapping[str, float],
    alternatives: Alternatives,
) -> tantivy.Query:
    """Return a query for texts with any of the terms, or with what stands for one.

    Of a term and what stands for it, the best one counts. A rare word does not count more than the
    term for which it stands, so that no text exceeds the highest score of the terms.
    """

    def rarity(terms: Sequence[str]) -> float:
        matching = (searcher.doc_freq(field.value, term) for term in terms)
        return sum(idf(count, searcher.num_docs) for count in matching)

    wanted = []
    for term, weight in weights.items():
        queries = [tantivy.Query.boost_query(_term(schema, field, term), weight)]
        for other in alternatives.get(term, ()):
            boost = weight * _ALTERNATIVE * min(1.0, rarity([term]) / rarity(other))
            queries.append(tantivy.Query.boost_query(_all_of(schema, field, other), boost))
        wanted.append(
            tantivy.Query.disjunction_max_query(queries) if len(queries) > 1 else queries[0]
        )
    return _either(wanted)


def _either(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _all_of(schema: tantivy.Schema, field: Field, terms: Sequence[str]) -> tantivy.Query:
    queries = [_term(schema, field, term) for term in terms]
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])


def _term(schema: tantivy.Schema, field: Field, term: str) -> tantivy.Query:
    return tantivy.Query.term_query(schema, field.value, term, "freq")


def idf(matching: int, texts: int) -> float:
    """Return the inverse document frequency of a term as BM25 defines it."""
    return log(1 + (texts - matching + 0.5) / (matching + 0.5))


_LOCKS_OF_LINKS = ".tantivy-*.lock"


class LinkedWords:
    """A temporary folder with links to the files of the words.

    Tantivy creates its locks beside its files, also where the folder of these may not be written.
    """

    def __init__(self, folder: Path) -> None:
        self._source = folder
        self._temporary = TemporaryDirectory(prefix="turnetl-words-")
        self.folder = Path(self._temporary.name)
        self.refresh()

    def refresh(self) -> None:
        for path in self._source.glob("*/*"):
            link = self.folder / path.parent.name / path.name
            if not path.match(_LOCKS_OF_LINKS) and not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(path.absolute())

    def close(self) -> None:
        if self.folder.exists():
            delete_folder(self.folder)
        self._temporary.cleanup()

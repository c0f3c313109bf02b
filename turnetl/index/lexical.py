"""The words of turns and passages, in two tantivy indexes.

Two, because BM25 compares the length of a text with the mean over all texts of its index. Texts are
split into terms before they are indexed; tantivy only splits at spaces. A commit is atomic, and
readers see the last one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import tantivy

from turnetl.index.port import Field, Keys

_ANALYZER = "spaces"
_KEY = "key"
_TURNS, _PASSAGES = "turns", "passages"
_FIELDS: Mapping[str, tuple[Field, ...]] = {
    _TURNS: (Field.TEXT, Field.PROMPT, Field.FACTS),
    _PASSAGES: (Field.PASSAGE,),
}
_K1 = 1.2
"""Tantivy's own constant; no term scores more than its weight times `_K1` + 1."""
_WRITER_BYTES = 32_000_000
_MAX_SELECTED = 20_000
"""More selected turns than this are filtered after the search, from `_OVERSAMPLED` as many hits."""
_OVERSAMPLED = 10
_PASSAGES_PER_TURN = 8
"""Hits read for each turn wanted: a turn has several passages."""


@dataclass(frozen=True, slots=True)
class TurnTerms:
    """The terms of one turn, by field; those of its passages as one text each."""

    key: int
    fields: Mapping[Field, str]
    """Terms separated by spaces."""
    passages: Sequence[str]


class LexicalIndex:
    """Both indexes of a folder."""

    def __init__(self, folder: Path) -> None:
        """Open the indexes, or create them.

        Raises:
            ValueError: the folder holds something else, or a file is damaged.
        """
        self._indexes = {kind: _open(folder / kind, fields) for kind, fields in _FIELDS.items()}

    def write(self, added: Sequence[TurnTerms], removed: Sequence[int]) -> None:
        """Replace the terms of turns, and remove those of others; commit.

        Raises:
            ValueError: another process writes, or the disk is full.
        """
        documents = {
            _TURNS: [_document(turn.key, turn.fields) for turn in added],
            _PASSAGES: [
                _document(turn.key, {Field.PASSAGE: passage})
                for turn in added
                for passage in turn.passages
            ],
        }
        outdated = [*(turn.key for turn in added), *removed]
        for kind, index in self._indexes.items():
            writer = index.writer(_WRITER_BYTES, 1)
            for key in outdated:
                writer.delete_documents_by_term(_KEY, key)
            for document in documents[kind]:
                writer.add_document(document)
            writer.commit()
            writer.wait_merging_threads()
            index.reload()

    def term_shares(
        self, field: Field, terms: Mapping[str, float], keys: Keys | None, limit: int
    ) -> dict[int, float]:
        """See `SearchIndex.term_shares`."""
        kind = _PASSAGES if field is Field.PASSAGE else _TURNS
        index = self._indexes[kind]
        searcher = index.searcher()
        weights = {term: weight for term, weight in terms.items() if weight > 0}
        maximum = sum(
            weight * _idf(searcher.doc_freq(field.value, term), searcher.num_docs)
            for term, weight in weights.items()
        ) * (_K1 + 1)
        if not searcher.num_docs or not maximum or (keys is not None and not len(keys)):
            return {}
        query = _any_of(index.schema, field, weights)
        count = limit * (_PASSAGES_PER_TURN if kind == _PASSAGES else 1)
        if keys is not None and len(keys) <= _MAX_SELECTED:
            selected = tantivy.Query.term_set_query(index.schema, _KEY, keys.tolist())
            query = tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Must, query),
                    (tantivy.Occur.Must, tantivy.Query.const_score_query(selected, 0.0)),
                ]
            )
        elif keys is not None:
            count *= _OVERSAMPLED
        hits = searcher.search(query, min(count, searcher.num_docs), count=False).hits
        found = searcher.fast_field_values(_KEY, [address for _, address in hits])
        wanted = None if keys is None else set(keys.tolist())
        best: dict[int, float] = {}
        for (score, _), key in zip(hits, found, strict=True):
            if len(best) == limit:
                break
            if key is not None and (wanted is None or key in wanted):
                best.setdefault(int(key), float(score) / maximum)
        return best


def _open(folder: Path, fields: Sequence[Field]) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(_KEY, indexed=True, fast=True)
    for field in fields:
        builder.add_text_field(field.value, tokenizer_name=_ANALYZER, index_option="freq")
    folder.mkdir(parents=True, exist_ok=True)
    index = tantivy.Index(builder.build(), str(folder))
    spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(_ANALYZER, spaces)
    return index


def _document(key: int, fields: Mapping[Field, str]) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned(_KEY, key)
    for field, terms in fields.items():
        document.add_text(field.value, terms)
    return document


def _any_of(schema: tantivy.Schema, field: Field, weights: Mapping[str, float]) -> tantivy.Query:
    queries = [
        tantivy.Query.boost_query(
            tantivy.Query.term_query(schema, field.value, term, "freq"), weight
        )
        for term, weight in weights.items()
    ]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _idf(matching: int, texts: int) -> float:
    return log(1 + (texts - matching + 0.5) / (matching + 0.5))

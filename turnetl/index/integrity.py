"""Read an index whole, and compare its parts with each other.

The checks that every opening makes find files that are cut or replaced. These find a flipped bit in
any file, and what two writers leave that a network file system let write at the same time.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import numpy as np

from turnetl.base.private_files import open_regular
from turnetl.base.terms import Tokenizer
from turnetl.episode_text.passages import split_passages
from turnetl.index.catalog import Catalog
from turnetl.index.catalog_queries import microseconds
from turnetl.index.conditions import fold
from turnetl.index.documents import turn_texts
from turnetl.index.files import CATALOG, LEXICAL, VECTORS, DamagedFile, no_step, translated_errors
from turnetl.index.parts import IndexParts
from turnetl.index.port import ENTITIES, FACTS, RECEIPTS, Field, unpack, unpacked_text
from turnetl.index.vectors import count_held

_BLOCK = 1 << 20
_TAIL = 8
"""Bytes after Tantivy's footer: its length and a magic number."""
_LOOKED_UP = 500
_TERMS = 100
"""Terms of a text by which it is looked up."""
_FOLDED = (("turn_tools", "tool"), ("entity_labels", "label"), ("entity_names", "name"))
"""Tables of the catalog with a name, and its folded form beside it."""


class _Footer(msgspec.Struct):
    crc: int


def check_index(folder: Path) -> bool:
    """Read the index in a folder, which nobody writes meanwhile; return whether there is one.

    Raises:
        OtherVersion: another version of turnetl made it.
        DamagedIndex: a file is damaged, or the parts of the index contradict each other.
    """
    path = folder / CATALOG
    with translated_errors(folder):
        if _is_missing(path):
            return False
    with translated_errors(folder), closing(Catalog.open_for_reading(path)) as catalog:
        catalog.check_version(folder)
        _check_catalog(catalog)
        _check_words(folder / LEXICAL)
        dimensions = catalog.embedder().dimensions
        parts = IndexParts(folder, catalog, dimensions, no_step, read_only=True)
        with closing(parts):
            parts.vectors.verify()
            if parts.search is not None:
                parts.search.vectors.verify()
            check_parts(parts)
            _check_terms(parts)
    return True


def check_parts(parts: IndexParts, *, vectors: bool = True) -> None:
    """Compare the turns of catalog, words and vectors by their numbers; raise DamagedFile.

    The parts have what was committed last. To compare vectors takes time: all their keys are read.
    """
    catalog = parts.catalog
    turns, unremoved = catalog.turn_count(), len(catalog.removed_with_words())
    of_turns, of_passages = parts.lexical.counts(catalog.last_key())
    if not turns <= of_turns <= turns + unremoved:
        raise DamagedFile(f"it has the words of {of_turns:,} turns instead of {turns:,}")
    if not vectors:
        return
    rows = count_held(parts.vectors.keys(), catalog.removed_turns())
    if not unremoved and rows != of_passages:
        raise DamagedFile(f"it has the words of {of_passages:,} passages instead of {rows:,}")
    held = np.unique(parts.vectors.keys())
    unknown = np.setdiff1d(held, [*catalog.keys(), *catalog.removed_turns().tolist()])
    if len(unknown):
        raise DamagedFile(f"it has the vectors of {len(unknown):,} unknown turns")


def _is_missing(path: Path) -> bool:
    """Return whether there is no index; raise if only its catalog is gone."""
    if path.exists() and path.stat().st_size:
        return False
    if path.exists() or (path.parent / VECTORS).exists():
        raise DamagedFile(f"`{path.name}` is {'empty' if path.exists() else 'missing'}")
    return True


def _check_catalog(catalog: Catalog) -> None:
    [[found], *_] = catalog.query("PRAGMA integrity_check(1)")
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))
    try:
        is_sound = all(_compared(catalog))
        catalog.token_counts()
    except (UnicodeDecodeError, TypeError, ValueError) as error:
        raise DamagedFile("a value of the catalog cannot be decoded") from error
    if not is_sound:
        raise DamagedFile("values of the catalog contradict each other")


def _compared(catalog: Catalog) -> Iterator[bool]:
    """Yield whether the columns of a row are those of its value, which has a checksum."""
    rows = catalog.connection.execute
    for turn, group, session, started_at, receipt, text in rows(
        "SELECT turn_id, group_id, session_id, started_at, receipt, text FROM turns"
    ):
        unpacked_text(text)
        one = unpack(receipt, RECEIPTS)
        yield (turn, group, session) == (one.turn_id, one.group_id, one.session_id)
        yield started_at == microseconds(one.started_at)
    for uuid, group, name, content in rows("SELECT uuid, group_id, name, content FROM entities"):
        entity = unpack(content, ENTITIES)
        yield (uuid, group, name) == (entity.uuid, entity.group_id, entity.name)
    for uuid, relation, valid_at, invalid_at, content in rows(
        "SELECT uuid, relation, valid_at, invalid_at, content FROM facts"
    ):
        fact = unpack(content, FACTS)
        yield (uuid, relation) == (fact.uuid, fact.relation)
        yield valid_at == (fact.valid_at and microseconds(fact.valid_at))
        yield invalid_at == (fact.invalid_at and microseconds(fact.invalid_at))
    for table, name in _FOLDED:
        for value, folded in rows(f"SELECT {name}, folded FROM {table}"):  # noqa: S608 - constants
            yield fold(value) == folded


def _check_words(folder: Path) -> None:
    for path in sorted(folder.glob("*/*.*")):
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".json":
            # A merge may remove a file meanwhile.
            with suppress(FileNotFoundError):
                _check_footer(path)


def _check_terms(parts: IndexParts) -> None:
    """Look some turns up by their words: a file of another index has a right checksum, too."""
    tokenizer = Tokenizer()
    keys = parts.catalog.keys()
    selected = keys[:: len(keys) // _LOOKED_UP + 1]
    facts = parts.catalog.facts(selected)
    for key, text in parts.catalog.texts(selected).items():
        passages = [(Field.PASSAGE, passage.text) for passage in split_passages(text)[-1:]]
        for field, value in (*turn_texts(text, facts.get(key, ())).items(), *passages):
            terms = sorted({*tokenizer.joined(value).split()})[:_TERMS]
            if terms and not parts.lexical.has_terms(key, field, terms):
                raise DamagedFile(f"`{LEXICAL}` does not have the words of its turns")


def _check_footer(path: Path) -> None:
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        length = int.from_bytes(file.read(4), "little")
        body = size - _TAIL - length
        if body < 0:
            raise DamagedFile(f"`{path.parent.name}/{path.name}` is truncated")
        file.seek(body)
        try:
            expected = msgspec.json.decode(file.read(length), type=_Footer).crc
        except msgspec.DecodeError:
            raise DamagedFile(f"`{path.parent.name}/{path.name}` is damaged") from None
        file.seek(0)
        checksum, left = 0, body
        while left and (block := file.read(min(left, _BLOCK))):
            checksum, left = zlib.crc32(block, checksum), left - len(block)
    if checksum != expected:
        raise DamagedFile(f"`{path.parent.name}/{path.name}` is not as it was written")

"""Parquet in and out: atomic, self-describing, checked against the schema both ways."""

from turnetl.lake.batches import Batch
from turnetl.lake.lake import (
    ArchiveMetadata,
    Lake,
    TurnFile,
    archive_digest,
    archive_digests,
    placed,
    shown,
)
from turnetl.lake.parquet import arrow_schema, unwritable
from turnetl.lake.values import as_episode, as_turn

__all__ = [
    "ArchiveMetadata",
    "Batch",
    "Lake",
    "TurnFile",
    "archive_digest",
    "archive_digests",
    "arrow_schema",
    "as_episode",
    "as_turn",
    "placed",
    "shown",
    "unwritable",
]

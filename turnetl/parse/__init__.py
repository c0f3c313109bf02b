"""Archives to turn tables: found, read if changed, redacted, written."""

from turnetl.parse.archives import archives
from turnetl.parse.expand import Expanded, expand
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.parse.sources import Bounds
from turnetl.parse.table import Redacts

__all__ = [
    "ArchiveReport",
    "Bounds",
    "Expanded",
    "Grouping",
    "Outcome",
    "ParseReport",
    "Problem",
    "Redacts",
    "archives",
    "expand",
]

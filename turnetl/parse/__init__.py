"""Archives to turn tables: found, read if changed, redacted, written."""

from turnetl.parse.archives import parse_archives
from turnetl.parse.expand import ExpandedPaths, expand
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.parse.sources import ParseLimits
from turnetl.parse.table import Redactor

__all__ = [
    "ArchiveReport",
    "ExpandedPaths",
    "Grouping",
    "Outcome",
    "ParseLimits",
    "ParseReport",
    "Problem",
    "Redactor",
    "expand",
    "parse_archives",
]

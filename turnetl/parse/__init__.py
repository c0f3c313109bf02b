"""Stage 1, parse: archives are found, read if they changed, redacted and written as turns files."""

from turnetl.parse.archives import parse_archives
from turnetl.parse.expand import ExpandedPaths, expand
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.parse.sources import ParseLimits

__all__ = [
    "ArchiveReport",
    "ExpandedPaths",
    "Grouping",
    "Outcome",
    "ParseLimits",
    "ParseReport",
    "Problem",
    "expand",
    "parse_archives",
]

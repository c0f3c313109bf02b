"""Stage 1, parse: archives are found, read if they changed, redacted and written as turns files."""

from turnetl.parsing.archives import parse_archives
from turnetl.parsing.expand import ExpandedPaths, expand
from turnetl.parsing.grouping import Grouping
from turnetl.parsing.parse_report import ArchiveReport, Outcome, ParsedFiles, ParseReport, Problem
from turnetl.parsing.sources import ParseLimits

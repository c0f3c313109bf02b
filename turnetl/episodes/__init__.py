"""Stage 2, filter: each turn once, in order, marked by the noise rules, rendered as text.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.episodes.filter_report import FilteredGroup, FilterReport, NoiseCount
    from turnetl.episodes.filters import Filters
    from turnetl.episodes.tables import build, holds_turns, is_current, repair, unjoined_archives

__getattr__ = lazy_exports(__name__)

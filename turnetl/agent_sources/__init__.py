"""Where the coding agents of this machine keep archives, what is new, and what they will delete.

The environment, the home folder and the platform are arguments: nothing here reads them.
"""

from turnetl.agent_sources.locations import AgentMachine, windows_homes
from turnetl.agent_sources.sources_report import (
    ArchiveState,
    FoundArchive,
    Source,
    SourcesReport,
    find_sources,
)

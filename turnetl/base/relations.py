"""The relations of facts. `templates/ontology/coding.toml` has their signatures and meanings.

Summaries, digests and pages group facts by them, whether rules or a model stated the facts.
"""

CHANGED, ADDED, DELETED, RENAMED = "CHANGED", "ADDED", "DELETED", "RENAMED"
FAILED_WITH, FIXED_BY, CAUSED_BY, REPORTED = "FAILED_WITH", "FIXED_BY", "CAUSED_BY", "REPORTED"
DECIDED, REJECTED, PREFERS, SUPERSEDES = "DECIDED", "REJECTED", "PREFERS", "SUPERSEDES"
COMMITTED, DEPENDS_ON = "COMMITTED", "DEPENDS_ON"
FAILED_CALL = "call"
"""The attribute `kind` of a FAILED_WITH fact about another tool than the shell."""

EDITS = frozenset({CHANGED, ADDED, DELETED, RENAMED, "MODIFIED", "CREATED"})
"""The last two are of graphs of earlier versions, until `redo`."""
CHANGES = EDITS | {COMMITTED}
FAILURES = frozenset({FAILED_WITH, REPORTED})
"""They hold until something resolves them."""
PROBLEMS = FAILURES | {CAUSED_BY}
DECIDING = frozenset({DECIDED, REJECTED})
"""Their source is a decision."""
DECISIONS = DECIDING | {PREFERS, SUPERSEDES}

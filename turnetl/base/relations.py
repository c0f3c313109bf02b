"""The relations of facts. `templates/ontology/coding.toml` has their signatures and meanings.

Summaries, digests and pages group facts by them, whether rules or a model stated the facts.
"""

CHANGED, ADDED, DELETED, RENAMED = "CHANGED", "ADDED", "DELETED", "RENAMED"
FAILED_WITH, FIXED_BY, CAUSED_BY, REPORTED = "FAILED_WITH", "FIXED_BY", "CAUSED_BY", "REPORTED"
DECIDED, REJECTED, PREFERS, SUPERSEDES = "DECIDED", "REJECTED", "PREFERS", "SUPERSEDES"
COMMITTED, DEPENDS_ON = "COMMITTED", "DEPENDS_ON"

EDITS = frozenset({CHANGED, ADDED, DELETED, RENAMED})
PROBLEMS = frozenset({FAILED_WITH, REPORTED, CAUSED_BY})
DECISIONS = frozenset({DECIDED, PREFERS, REJECTED, SUPERSEDES})
CHANGES = EDITS | {FIXED_BY, COMMITTED}
RELATIONS = CHANGES | PROBLEMS | DECISIONS | {DEPENDS_ON}
OLD_EDITS = frozenset({"MODIFIED", "CREATED", "RECORDED"})
OLD_EXPLANATIONS = frozenset({"EXPLAINED", "DESCRIBED", "USED_FOR"})
"""Of graphs of earlier versions, until `redo`."""

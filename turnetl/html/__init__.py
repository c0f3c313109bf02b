"""HTML pages: one style sheet, one layout, and macros for turns, facts, lineage and charts.

Templates are part of the package, unlike those of the top-level folder `templates/`, which users
replace: a change of them could break the policy.
"""

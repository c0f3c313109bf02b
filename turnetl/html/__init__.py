"""HTML pages: one style sheet, one layout, and macros for turns, facts, lineage and charts.

`pages` renders a template of a folder with all text escaped, under a policy that loads nothing and
runs nothing. `references` has the values that the macros take, `charts` the geometry of charts.
Templates are part of the package, unlike those of the top-level folder `templates/`, which users
replace: a change of them could break the policy.
"""

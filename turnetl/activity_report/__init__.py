"""`turnetl report`: what agents and turnetl did, over all turns of a lake and a graph.

`report_file` opens lake, graph and index. `turns` reads the lake; `contents`, `usage` and `pending`
summarise its turns, `knowledge` the facts of the index, `own_cost` what turnetl paid. All of these
are pure, and every list is bounded. `model` is the result, `personal` removes personal data from
it.
"""

"""What agents and turnetl did, over all turns of a lake and a graph: the content of a report.

`turns` reads the lake; `contents`, `usage`, `noise`, `pending` and `timeline` summarise its turns,
`knowledge` the facts of the index, `own_cost` what turnetl paid. All of them are pure, and every
list is bounded by `limits`. `model` is the result, `personal` removes personal data from it.
"""

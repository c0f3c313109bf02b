"""The search index: a copy of a graph's texts, made for searching. It can be deleted at any time.

`port` is what a search needs of it, `persistent` the index on disk, `follow` brings it up to date
with a graph. It has three parts: `catalog` (SQLite: which turns, facts and entities there are),
`lexical` (tantivy: which turns contain a word) and `vectors` (memory-mapped: which passages are
similar to a query).
"""

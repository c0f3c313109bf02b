"""Search: which turns of the graph match a query, best first.

`search` builds the searchable turns and the hits, `ranking` ranks them, `query` compares texts with
the query, `passages` splits episode texts, `bm25` and `terms` compare words.
"""

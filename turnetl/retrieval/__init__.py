"""Search: which turns of the graph match a query, best first.

`search` builds the searchable turns and the hits, `ranking` ranks them, `query` compares texts with
the query, `passages` splits episode texts, `bm25` and `terms` compare words.

`recipe_search` runs Graphiti's own search instead, `recipes` has its names and options, `center`
finds the entity that the user names, `lineage` leads from results to turns.
"""

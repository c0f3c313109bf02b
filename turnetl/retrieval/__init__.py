"""Search: which turns of the graph match a query, best first.

`query` reads the words of a query, `ranking` ranks turns, `hits` adds what is shown of each, and
`search` does all of it. `recipe_search` runs Graphiti's own search instead; `recipes` has its names
and options.
"""

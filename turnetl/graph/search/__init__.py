"""Graphiti's own search over groups in memory, so that every store returns the same results.

searched_graph  what is searched: the nodes and edges of the groups, with comparable vectors
index           nodes and edges by full text and by vector
neighbourhood   what is near in the graph: breadth-first search, distance, mentions
adapters        Graphiti's search interface, answered from index and neighbourhood
recipes         one of Graphiti's search recipes, run with these adapters
"""

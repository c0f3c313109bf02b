"""The store in a Neo4j server."""

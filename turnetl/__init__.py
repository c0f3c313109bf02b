"""Years of coding-agent archives into a temporal knowledge graph."""

"""How good the results are on the user's own turns: templates compared, retrieval measured."""

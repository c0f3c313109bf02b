"""Sets of kinds and syntaxes that are kept apart from those that the rules were written with."""

"""How long the lists of a report are. Each says how many items it leaves out."""

PROJECTS = 40
PROJECT_WEEKS = 26
CHART_WEEKS = 104
CHART_MONTHS = 120
CHART_DAYS = 90
SERIES = 5
"""Projects or models of a chart with a colour of their own; the others are one more series."""
TIMELINE_TURNS = 250
DECISIONS = 100
OPEN_PROBLEMS = 50
ERRORS = 25
LABELS = 8
ENTITIES = 8
"""Of each label."""
ENTITY_FACTS = 5
EVIDENCE = 4
MODELS = 30
NOISE_EXAMPLES = 3
QUARANTINED = 50
TURNS_OF_REASON = 30
RUNS = 20
LINEAGE = 2
"""Turns of a fact."""
ARCHIVES = 30
PROMPT_CHARS = 400
"""Of a prompt that are read for its title."""
TITLE_CHARS = 160
TEXT_CHARS = 600
"""Of a fact or an answer."""

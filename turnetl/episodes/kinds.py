"""The kinds of turns. `turnetl.episodes.classify` says which turn is of which kind."""

ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY = "error_heavy", "code_heavy", "tool_heavy"
CONVERSATIONAL, ORDINARY = "conversational", "ordinary"
KINDS = (ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY, CONVERSATIONAL, ORDINARY)

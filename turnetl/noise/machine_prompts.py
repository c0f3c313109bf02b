"""Patterns for prompts and responses that a program wrote, and names of turnetl's own tools."""

SUGGESTION = r"^\[SUGGESTION MODE:|^Generate 0 to 3 hyperpersonalized suggestions"

TITLE = (
    r"(?i)^(?:based on the above conversation, |please )?"
    r"(?:write|generate|create|give|provide|summari[sz]e)[^\n]{0,60}"
    r"\b(?:title|topic|branch name)\b[^\n]{0,60}\b(?:this|our|the following|the above)"
    r" (?:coding )?(?:conversation|session|chat|task|message)\b"
    r"|^Analyze if this message indicates a new conversation topic"
    r"|^Based on the above conversation, generate a (?:short|concise) title"
    r"|^Summarize this coding conversation in under \d+ characters"
    r"|^Generate a concise, (?:sentence-case|single-line)[^\n]{0,20} title"
    r"|^You are a title generator\."
    r"|^You are a helpful assistant\. You will be presented with a user prompt, and your job is to"
    r" provide a short title"
)

WARM_UP = r"(?i)^(?:warm[ -]?up|ping|quota)[.!]?$"

HARNESS = (
    # Summaries for lists of sessions, and compactions of conversations that grew too long.
    r"^Summarize this part of a conversation"
    r"|^Context: This summary will be shown in a list"
    r"|^Your task is to create a detailed summary of the conversation"
    r"|^You are performing a CONTEXT CHECKPOINT COMPACTION"
    r"|^Another language model started to solve this problem and produced a summary"
    r"|^First, reason in your scratchpad\. Then, generate the <state_snapshot>"
    r"|^Provide a detailed (?:prompt for continuing|summary of) our conversation above"
    r"|^What did we do so far\?$"
    # Requests to continue.
    r"|^Please continue the conversation from where we left it off"
    r"|^Continue from where you left off\.$"
    r"|^System: Please continue\."
    r"|^Continue if you have next steps\b"
    r"|^Summarize the task tool output above and continue with your task"
    # Side questions about the conversation.
    r"|^Analyze \*only\* the content and structure of your immediately preceding response"
    r"|^Extract any file paths that this command reads or modifies"
    r"|^Your task is to process Bash commands that an AI coding agent wants to run"
    r"|^Describe your most recent action in \d+-\d+ words using present tense"
    # Output of a hook, a shell or the client, recorded as a prompt of the user.
    r"|^(?:Stop|SubagentStop) hook feedback:"
    r"|^\[Request interrupted by user[^\]\n]*\]$"
    r"|^\[SYSTEM NOTIFICATION"
    r"|^<task-notification>"
    r"|^<(?:local-command-|bash-|turn_aborted|environment_context)(?s:.*)"
    r"</(?:local-command-[a-z]+|bash-[a-z]+|turn_aborted|environment_context)>$"
    # Plug-ins that observe a session from their own session.
    r"|^Hello memory agent, you are continuing to observe the primary Claude session"
    r"|^You are a Claude-Mem, a specialized observer tool"
)

HEARTBEAT = r"^(?:\*\*)?HEARTBEAT_OK(?:\*\*)?[.!]?$"
"""The response of an agent that a timer woke and that found nothing to do."""

CLIENT_COMMAND = (
    r"(?i)^(?:/(?:about|agents|approvals|auth|bashes|bug|clear|compact|compress|config|context|copy"
    r"|cost|diff|directory|doctor|editor|effort|exit|export|extensions|fast|feedback|fork|help|hooks"
    r"|ide|install-github-app|keybindings|login|logout|mcp|memory|model|models|new|output-style"
    r"|permissions|privacy|privacy-settings|quit|quota|redo|release-notes|reload-plugins|rename"
    r"|resume|rewind|sandbox|sessions|settings|share|skills|stats|status|statusline|tasks"
    r"|terminal-setup|theme|themes|todos|tools|undo|unshare|upgrade|usage|vim)"
    r"|/(?:model|theme|effort|fast|vim|permissions|output-style|editor|rename) \S+"
    r"|:?q|exit|quit|clear|logout)$"
)
"""Commands that the client executes itself, without a request to the model."""

PROVIDER_ERROR = (
    r"(?i)^(?:\[?API Error\b|(?:Claude (?:AI )?)?usage limit reached"
    r"|(?:\d+-hour|session|weekly|opus weekly|sonnet weekly) limit (?:reached|resets)"
    r"|You(?:'|\u2019)ve (?:hit|reached) your [^\n]{0,40}limit|You(?:'|\u2019)re out of extra usage"
    r"|Credit balance (?:is )?too low|Invalid API key|Not logged in"
    r"|Failed to authenticate|Prompt is too long|OAuth token (?:revoked|has expired)"
    r"|Please run /login|Your account does not have access to|This organization has been disabled"
    r"|There's an issue with the selected model|Selected model is at capacity"
    r"|Request timed out|Request was aborted|Request too large|Connection error"
    r"|Unable to connect to (?:the )?API|Repeated 529 Overloaded"
    r"|Server is temporarily limiting requests"
    r"|(?:stream error: )?stream disconnected before completion|exceeded retry limit, last status"
    r"|unexpected status \d{3}\b|Your input exceeds the context window"
    r"|Codex ran out of room|We(?:'|\u2019)re currently experiencing high demand"
    r"|No response requested\.?$"
    r"|(?:(?:API )?Error: )?(?:429|500|502|503|529)\b)"
)
"""The first words of a provider error that is recorded as a response."""


HISTORY_CALL = (
    r"^(?:mcp__turnetl__|mcp_turnetl_|turnetl__?|turnetl\.)(?:search|open|timeline|fix|list)$"
)
"""With the prefixes of the agents, for a server that is configured as `turnetl`."""
ASIDE_CALL = r"^(?:ToolSearch|tool_search|TodoWrite|TodoRead|update_plan)$"
"""With these an agent finds its tools, and keeps its own list."""

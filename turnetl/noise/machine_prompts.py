"""Patterns for prompts and responses that a program wrote, and names of turnetl's own tools."""

SUGGESTION = r"^\[SUGGESTION MODE:|^Generate 0 to 3 hyperpersonalized suggestions"

TITLE = (
    r"(?i)^(?:based on the above conversation, |please )?(?:write|generate|create|give|provide"
    r"|summari[sz]e)[^\n]{0,60}\b(?:title|topic|branch name)\b[^\n]{0,60}\b(?:this|our"
    r"|the following|the above) (?:coding )?(?:conversation|session|chat|task|message)\b"
    r"|^Analyze if this message indicates a new conversation topic|^Based on the above"
    r" conversation, generate a (?:short|concise) title|^Summarize this coding conversation in"
    r" under \d+ characters|^Generate a concise, (?:sentence-case|single-line)[^\n]{0,20} title"
    r"|^You are a title generator\.|^You are a helpful assistant\. You will be presented with a"
    r" user prompt, and your job is to provide a short title"
)

WARM_UP = r"(?i)^(?:warm[ -]?up|ping|quota)[.!]?$"

HARNESS = (
    # Summaries for lists of sessions, and compactions of conversations that grew too long.
    r"^Summarize this part of a conversation|^Context: This summary will be shown in a list"
    r"|^Your task is to create a detailed summary of the conversation|^You are performing a"
    r" CONTEXT CHECKPOINT COMPACTION|^Another language model started to solve this problem and"
    r" produced a summary|^First, reason in your scratchpad\. Then, generate the <state_snapshot>"
    r"|^Provide a detailed (?:prompt for continuing|summary of) our conversation above"
    r"|^What did we do so far\?$"
    # Requests to continue.
    r"|^Please continue the conversation from where we left it off|^Continue from where you left"
    r" off\.$|^System: Please continue\.|^Continue if you have next steps\b|^Summarize the task"
    r" tool output above and continue with your task"
    # Side questions about the conversation.
    r"|^Analyze \*only\* the content and structure of your immediately preceding response"
    r"|^Extract any file paths that this command reads or modifies"
    r"|^Your task is to process Bash commands that an AI coding agent wants to run"
    r"|^Describe your most recent action in \d+-\d+ words using present tense"
    # Output of a hook, a shell or the client, recorded as a prompt of the user.
    r"|^(?:Stop|SubagentStop) hook feedback:|^\[Request interrupted by user[^\]\n]*\]$"
    r"|^\[SYSTEM NOTIFICATION|^<task-notification>|^<(?:local-command-|bash-|turn_aborted"
    r"|environment_context)(?s:.*)</(?:local-command-[a-z]+|bash-[a-z]+|turn_aborted"
    r"|environment_context)>$"
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
    r"(?i)^(?:\[?API Error\b|(?:Claude (?:AI )?)?usage limit reached|(?:\d+-hour|session|weekly"
    r"|opus weekly|sonnet weekly) limit (?:reached|resets)|You(?:'|\u2019)ve (?:hit"
    r"|reached) your [^\n]{0,40}limit|You(?:'|\u2019)re out of extra usage|Credit balance (?:is"
    r" )?too low|Invalid API key|Not logged in|Failed to authenticate|Prompt is too long"
    r"|OAuth token (?:revoked|has expired)|Please run /login|Your account does not have access to"
    r"|This organization has been disabled|There's an issue with the selected model"
    r"|Selected model is at capacity|Request timed out|Request was aborted|Request too large"
    r"|Connection error|Unable to connect to (?:the )?API|Repeated 529 Overloaded"
    r"|Server is temporarily limiting requests|(?:stream error: )?stream disconnected before"
    r" completion|exceeded retry limit, last status|unexpected status \d{3}\b"
    r"|Your input exceeds the context window|Codex ran out of room|We(?:'"
    r"|\u2019)re currently experiencing high demand|No response requested\.?$"
    r"|(?:(?:API )?Error: )?(?:429|500|502|503|529)\b)"
)
"""The first words of a provider error that is recorded as a response."""


HISTORY_CALL = (
    r"^(?:mcp__turnetl__|mcp_turnetl_|turnetl__?|turnetl\.)(?:search|open|timeline|fix|list)$"
)
"""With the prefixes of the agents, for a server that is configured as `turnetl`."""
ASIDE_CALL = r"^(?:ToolSearch|tool_search|TodoWrite|TodoRead|update_plan)$"
"""With these an agent finds its tools, and keeps its own list."""

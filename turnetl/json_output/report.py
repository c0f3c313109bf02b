"""`turnetl report --json`."""

from typing import Annotated

from turnetl.activity_report.model import TokenCount
from turnetl.activity_report.report import ReportFile
from turnetl.base.results import JsonOutput, described


class TokensOutput(JsonOutput):
    """Tokens that the agents used, as their archives record them."""

    total: Annotated[int, described("Input, cache write, cache read and output.")]
    input: Annotated[int, described("Tokens of prompts without the cache.")]
    cache_write: Annotated[
        int | None, described("Tokens written to the cache; null if no archive records them.")
    ]
    cache_read: Annotated[
        int | None, described("Tokens read from the cache; null if no archive records them.")
    ]
    output: Annotated[int, described("Tokens of responses, with reasoning.")]
    reasoning: Annotated[
        int | None, described("Those of reasoning; null if no archive records them.")
    ]
    of_subagents: Annotated[int, described("Those of subagents, part of `total`.")]


class ReportOutput(JsonOutput):
    """A report that was written."""

    path: Annotated[str, described("The file.")]
    bytes: Annotated[int, described("Its size.")]
    turns: Annotated[int, described("Turns that it is about.")]
    sessions: Annotated[int, described("Their sessions.")]
    projects: Annotated[int, described("Their groups.")]
    tokens: Annotated[TokensOutput, described("What the agents used.")]
    missing: Annotated[
        list[str], described("Sentences: what is not in the report, and what to do.")
    ]


def report_output(written: ReportFile) -> ReportOutput:
    return ReportOutput(
        path=str(written.path),
        bytes=written.bytes,
        turns=written.turns,
        sessions=written.sessions,
        projects=written.projects,
        tokens=_tokens(written.tokens),
        missing=list(written.missing),
    )


def _tokens(tokens: TokenCount) -> TokensOutput:
    return TokensOutput(
        total=tokens.tokens,
        input=tokens.input_tokens,
        cache_write=tokens.cache_write_tokens,
        cache_read=tokens.cache_read_tokens,
        output=tokens.output_tokens,
        reasoning=tokens.reasoning_tokens,
        of_subagents=tokens.subagent_tokens,
    )

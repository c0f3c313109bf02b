"""Options that several commands share, each with its line of help, and checks of their values.

An empty path is an error, and not the working directory: a script whose variable is not set
(`--output "$OUTPUT"`) would write there.
"""

import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.index.conditions import CONDITIONS, Selection

if TYPE_CHECKING:  # importing these takes a second, which `--help` must not spend
    from turnetl.base.shard import Shard
    from turnetl.ingestion.plan import AssumedTime
    from turnetl.pipeline.run_options import RunOptions
    from turnetl.settings import LoadedSettings, Settings

P = ParamSpec("P")
T = TypeVar("T")


def joined_words(command: str, words: Sequence[str]) -> str:
    """Return the words of a text that may start with a hyphen."""
    from turnetl.cli import app
    from turnetl.console.usage_errors import check_words

    check_words(app, command, words)
    return " ".join(words)


def checked(selection: Selection, **options: str) -> Selection:
    """Return what options select after a check, with the path of a file from the working directory.

    `options`: the names of options that are not those of their conditions.
    """

    def named(condition: str) -> str:
        return f"`--{options.get(condition, condition).replace('_', '-')}`"

    selection.check_times(named)
    for name in CONDITIONS:
        value = getattr(selection, name)
        if isinstance(value, str) and not value.strip():
            raise BadUsage(f"{named(name)} is empty: give it a value, or omit it")
    if selection.file is None:
        return selection
    from turnetl.retrieval.items import file_path

    return replace(selection, file=file_path(selection.file, Path.cwd()))


def budget_settings(budget: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings that the option `--budget` makes; none without it."""
    if not budget:
        return {}
    from turnetl.settings.sections import parse_budget

    return {"budget": parse_budget(budget)}


def read_assumed_time(text: str | None) -> "AssumedTime | None":
    """Return the time that the option `--assume-time` names."""
    if text is None:
        return None
    from turnetl.ingestion import plan

    return plan.parse_assumed_time(text, now())


def read_shard(text: str | None) -> "Shard | None":
    """Return the shard that the option names."""
    from turnetl.base.shard import Shard

    return None if text is None else Shard.parse(text)


def to_path(_type: Any, tokens: Sequence[Token]) -> Path:
    """Convert an option or an argument to a path."""
    if not tokens[0].value:
        raise ValueError  # `console.usage_errors` names what is accepted
    return Path(tokens[0].value)


NonEmptyPath = Annotated[Path, Parameter(converter=to_path)]
PathOption = Annotated[Path | None, Parameter(converter=to_path)]


def condition(name: str) -> Parameter:
    """Return the option that states a condition of a selection, as it is declared there."""
    declared = CONDITIONS[name]

    def read_time(_type: Any, tokens: Sequence[Token]) -> datetime:
        time = declared.read_time(tokens[0].value, now())
        if time is None:
            raise ValueError  # `console.usage_errors` names what is accepted
        return time

    return Parameter(help=declared.help, converter=read_time if declared.time else None)


Since = Annotated[datetime | None, condition("since")]
"""The beginning of the day, month or other span that the user names, in UTC."""
Until = Annotated[datetime | None, condition("until")]
"""The end of the span: `2026-03` includes March."""
AsOf = Annotated[datetime | None, condition("as_of")]


_OUTPUT = Group("Output", sort_key=10)
_FLAG = Parameter(negative="", show_default=False)
_OUTPUT_FLAG = Parameter(negative="", show_default=False, group=_OUTPUT)
_REPEATABLE = Parameter(negative="", show_default=False)

Flag = Annotated[bool, _FLAG]
_ARCHIVE_PATHS = Parameter(
    negative="", show_default=False, help="Files, folders or globs; also s3://, gs://, az://."
)
ArchivePaths = Annotated[list[str], _ARCHIVE_PATHS]
OptionalArchivePaths = Annotated[tuple[str, ...], _ARCHIVE_PATHS]
ExtractorOption = Annotated[
    Literal["structural", "llm", "hybrid"] | None,
    Parameter(
        help="Extractor of entities and facts [default: llm if a model is set, else structural]."
    ),
]
BudgetOption = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        show_default=False,
        help="Stop the run when this much is used: 5usd, '200k tokens', or one of each.",
    ),
]
GroupNames = Annotated[
    tuple[GroupId, ...],
    condition("groups"),
    Parameter(name="--group", negative="", show_default=False),
]
PilotTurns = Annotated[
    int | None,
    Parameter(
        validator=Number(gte=1),
        help="Extract this many turns now, for an estimate with a range; 20 are usual. It is paid "
        "for, up to --budget, and the run does not pay for the same responses again.",
    ),
]
ShardOption = Annotated[
    str | None,
    Parameter(
        name="--shard",
        show_default=False,
        help="Only this part of the work: 2/8 is the second of eight shards.",
    ),
]
CloseAfterMinutes = Annotated[
    float | None,
    Parameter(
        name="--close-after",
        validator=Number(gte=0),
        help="Minutes without a new row after which the last turn of a session is closed "
        "[default: 30].",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class DiagnosticOptions:
    """Options of every command. `turnetl.console` reads these before it parses the arguments."""

    verbose: Annotated[bool, Parameter(name=("--verbose", "-v")), _OUTPUT_FLAG] = False
    "Log to standard error."
    debug: Annotated[bool, _OUTPUT_FLAG] = False
    "Print the tracebacks of errors, also of those in an archive or a turn."


@Parameter(name="*")
@dataclass(frozen=True)
class OutputOptions(DiagnosticOptions):
    """Options of every command with a result."""

    json: Annotated[bool, _OUTPUT_FLAG] = False
    "Print one JSON object on standard output; `turnetl schema COMMAND` prints its schema."

    def executed(
        self, verb: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **options: P.kwargs
    ) -> T:
        """Execute a verb that takes `progress`, and show its progress."""
        with console.show_progress(as_json=self.json) as progress:
            # A `ParamSpec` cannot say that the verb takes one option more.
            return console.run_async(verb(*args, **options, progress=progress))  # type: ignore[arg-type]


@Parameter(name="*")
@dataclass(frozen=True)
class SettingsOptions(DiagnosticOptions):
    """Options of every command that reads the settings."""

    lake: str | None = None
    "Folder of the tables, or s3://, gs://, az:// [env: TURNETL_LAKE; default: ~/.turnetl/lake]."
    graph: str | None = None
    "ladybug:///path/file.lbug or bolt://user:password@host:7687 [env: TURNETL_GRAPH]."
    config: PathOption = None
    "JSON config file [default: ./graphiti.config.json if trusted, then that in ~/.graphiti]."

    def settings(self, **arguments: Any) -> "Settings":
        from turnetl.settings import load_settings

        return load_settings(self.config, lake=self.lake, graph=self.graph, **arguments)


@Parameter(name="*")
@dataclass(frozen=True)
class CommonOptions(SettingsOptions, OutputOptions):
    """Options of every command that reads the settings and has a result."""

    def loaded_settings(self) -> "LoadedSettings":
        """Return the settings with their sources."""
        from turnetl.settings import load_with_sources

        return load_with_sources(self.config, lake=self.lake, graph=self.graph)

    def next_command(self, *words: str) -> str:
        """Return a command on the same lake and graph, as it can be typed."""
        from turnetl.console.next_command import next_command

        options = {"--lake": self.lake, "--graph": self.graph, "--config": self.config}
        return next_command(Path(sys.argv[0]), Path.cwd(), words, options)


@Parameter(name="*")
@dataclass(frozen=True)
class ArchiveOptions:
    """How archives are parsed, and the group of their turns."""

    group: str | None = None
    "Group of all turns: a name, or a template of {project}, {format}, {user}, {host}."
    group_map: PathOption = None
    "TOML file with exceptions from --group."
    format: str | None = None
    "Parse all archives as this format; `turnetl formats` lists them."
    jobs: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "Archives parsed in parallel [default: one per core]."
    redact_pii: Annotated[
        bool | None,
        Parameter(
            help="Also redact personal data: addresses, names of people, accounts and machines; a "
            "change makes the run read all archives again."
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options that are settings."""
        return {
            "group": self.group,
            "group_map": self.group_map,
            "jobs": self.jobs,
            "redact_pii": self.redact_pii,
        }


@Parameter(name="*")
@dataclass(frozen=True)
class NoiseOptions:
    """Rules that mark turns as noise in this run, in addition to the settings."""

    disable_rule: Annotated[tuple[str, ...], _REPEATABLE] = ()
    "Rule to disable in this run; repeatable. `turnetl rules` lists the rules."
    enable_rule: Annotated[tuple[str, ...], _REPEATABLE] = ()
    "Rule to enable in this run that is disabled by default; repeatable."
    rules: PathOption = None
    "TOML file with rules of your own."

    @property
    def one_off(self) -> bool:
        """Whether this run uses other rules than the settings."""
        return bool(self.disable_rule or self.enable_rule or self.rules)

    def applied_to(self, settings: "Settings") -> "Settings":
        """Return the settings with the options of this run."""
        if not self.one_off:
            return settings
        noise = settings.noise.merged(self.disable_rule, self.enable_rule, self.rules)
        return settings.model_copy(update={"noise": noise})


@Parameter(name="*")
@dataclass(frozen=True)
class ExtractionOptions:
    """How the model is used in this run."""

    preprocessing: str | None = None
    "Instructions for the model: the name of a template, the text itself, or none."
    reflexion: Annotated[int | None, Parameter(validator=Number(gte=0, lte=3))] = None
    "Reflexion passes, in which the model looks for what it missed: 0 to 3 [default: 0]."
    budget: BudgetOption = ()
    run_ahead: Annotated[int | None, Parameter(validator=Number(gte=0, lte=64))] = None
    "Turns of a group resolved ahead of the commit, with guessed responses; 0: none [default: 4]."

    @property
    def settings(self) -> dict[str, Any]:
        """The options that are settings."""
        return {"run_ahead": self.run_ahead, **budget_settings(self.budget)}

    def run_options(self) -> "RunOptions":
        from turnetl.pipeline.run_options import RunOptions

        return RunOptions(preprocessing=self.preprocessing, reflexion=self.reflexion)


@Parameter(name="*")
@dataclass(frozen=True)
class SelectionOptions:
    """The turns of an ingest, and its extractor."""

    extractor: ExtractorOption = None
    since: Since = None
    until: Until = None
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "Ingest at most this many turns of each group."
    close_after: CloseAfterMinutes = None
    assume_time: str | None = None
    "Time of turns without one: an ISO time (UTC without a zone), or `mtime` for that of the file."
    wait: Annotated[float, Parameter(validator=Number(gte=0), show_default=False)] = 0
    "Seconds for which to try again if another process writes a group or the graph [default: 0]."
    dry_run: Flag = False
    "Do not write to the graph and send no request; print the pending turns and the requests."
    no_flush: Flag = False
    "Leave summaries that are deferred at the end of the run to `turnetl summarize`."

    def settings(self, common: CommonOptions, **arguments: Any) -> "Settings":
        settings = common.settings(
            extractor=self.extractor, close_after_minutes=self.close_after, **arguments
        )
        if not self.no_flush:
            return settings
        summaries = settings.summaries.model_copy(update={"flush": False})
        return settings.model_copy(update={"summaries": summaries})

    def run_options(
        self,
        groups: tuple[str, ...] = (),
        *,
        extraction: ExtractionOptions,
        shard: str | None = None,
        retry: bool = False,
    ) -> "RunOptions":
        from turnetl.pipeline.run_options import RunOptions

        return RunOptions(
            groups=groups,
            shard=read_shard(shard),
            since=self.since,
            until=self.until,
            limit=self.limit,
            assumed_time=read_assumed_time(self.assume_time),
            retry=retry,
            dry_run=self.dry_run,
            wait_seconds=self.wait,
            preprocessing=extraction.preprocessing,
            reflexion=extraction.reflexion,
            command=("turnetl", *sys.argv[1:]),
        )


NO_DIAGNOSTICS = DiagnosticOptions()
NO_OUTPUT = OutputOptions()
NO_SETTINGS = SettingsOptions()
NO_COMMON = CommonOptions()
NO_ARCHIVE = ArchiveOptions()
NO_NOISE = NoiseOptions()
NO_EXTRACTION = ExtractionOptions()
NO_SELECTION = SelectionOptions()
"""The defaults of the commands: no option is given."""

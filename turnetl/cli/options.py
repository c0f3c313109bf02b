"""What the commands share: options that several take, each with its line of help."""

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from turnetl.clock import as_utc, now

if TYPE_CHECKING:  # importing these costs a second, and `--help` must not pay it
    from turnetl.pipeline import RunOptions
    from turnetl.settings import Settings

MODEL_COMMANDS = Group("With a model", sort_key=3)
_REPEATED = Parameter(negative="", show_default=False)
JSON_HELP = "One JSON object on standard output."
ArchivePaths = Annotated[list[str], Parameter(negative="", help="Files, folders or globs.")]
ExtractorOption = Annotated[
    Literal["structural", "llm", "hybrid"] | None,
    Parameter(help="What finds entities and facts [default: llm if a model is set]."),
]
GroupNames = Annotated[
    tuple[str, ...],
    Parameter(
        name="--group", negative="", show_default=False, help="Only this group; may be repeated."
    ),
]
QuietMinutes = Annotated[
    float | None,
    Parameter(
        name="--quiet",
        help="Minutes without a new row after which a session's last turn is over [default: 30].",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class CommonOptions:
    """What every command takes."""

    lake: Path | None = None
    "Folder of the tables [env: TURNETL_LAKE; default: data/lake]."
    graph: str | None = None
    "ladybug:///path/file.lbug or bolt://user:password@host:7687 [env: TURNETL_GRAPH]."
    config: Path | None = None
    "JSON config [default: ./graphiti.config.json, then ~/.graphiti/]."
    json: Annotated[bool, Parameter(negative="", help=JSON_HELP)] = False

    def settings(self, **given: Any) -> "Settings":
        from turnetl.settings import load_settings

        return load_settings(self.config, lake=self.lake, graph=self.graph, **given)

    def search(self) -> str:
        """Return the command that searches this very graph, up to the question."""
        from turnetl.report.next_command import search

        options = {"--lake": self.lake, "--graph": self.graph, "--config": self.config}
        return search(Path(sys.argv[0]), Path.cwd(), options)


@Parameter(name="*")
@dataclass(frozen=True)
class ArchiveOptions:
    """How archives are read, and where their turns go."""

    group: str | None = None
    "Put turns into this group: a name, or a template of {project}, {format}, {user}, {host}."
    group_map: Path | None = None
    "TOML file with exceptions from that."
    format: str | None = None
    "Read all archives as this, whatever they look like; see turnetl formats."
    jobs: int | None = None
    "Archives read side by side [default: as many as there are cores]."
    redact_pii: bool | None = None
    "Cut out also e-mail addresses, names of home folders and IP addresses; reads all anew."

    @property
    def settings(self) -> dict[str, Any]:
        """What of it is a setting."""
        return {
            "group": self.group,
            "group_map": self.group_map,
            "jobs": self.jobs,
            "redact_pii": self.redact_pii,
        }


@Parameter(name="*")
@dataclass(frozen=True)
class NoiseOptions:
    """Which rules mark turns as noise, for this run; added to what the settings say."""

    keep: Annotated[tuple[str, ...], _REPEATED] = ()
    "Rule that shall mark nothing; may be repeated. `turnetl rules` lists them."
    drop: Annotated[tuple[str, ...], _REPEATED] = ()
    "Rule that shall mark, though it does not by itself; may be repeated."
    rules: Path | None = None
    "TOML file with rules of your own."

    @property
    def one_off(self) -> bool:
        """Whether anything was said."""
        return bool(self.keep or self.drop or self.rules)

    def over(self, settings: "Settings") -> "Settings":
        """Return the settings with what was said."""
        if not self.one_off:
            return settings
        noise = settings.noise.merged(self.keep, self.drop, self.rules)
        return settings.model_copy(update={"noise": noise})


@Parameter(name="*")
@dataclass(frozen=True)
class SelectionOptions:
    """Which turns to take, and with what."""

    extractor: ExtractorOption = None
    since: datetime | None = None
    "Only turns that started at this time or later (UTC if no zone is given)."
    until: datetime | None = None
    "Only turns that started before this time."
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "At most so many turns of each group."
    quiet: QuietMinutes = None
    assume_time: str | None = None
    "For turns without any time: an ISO time (UTC if no zone is given), or mtime: the archive's."
    dry_run: Annotated[bool, Parameter(negative="")] = False
    "Write nothing to the graph and call no model; say what waits, and show what would be asked."

    def settings(self, common: CommonOptions, **given: Any) -> "Settings":
        return common.settings(extractor=self.extractor, quiet_minutes=self.quiet, **given)

    def limits(
        self,
        groups: tuple[str, ...] = (),
        *,
        asked: "ExtractionOptions | None" = None,
        retry: bool = False,
    ) -> "RunOptions":
        from turnetl.ingest import assumed_time
        from turnetl.pipeline import RunOptions

        return RunOptions(
            groups=groups,
            since=as_utc(self.since),
            until=as_utc(self.until),
            limit=self.limit,
            assumed_time=assumed_time.read(self.assume_time, now())
            if self.assume_time is not None
            else None,
            retry=retry,
            dry_run=self.dry_run,
            preprocessing=asked.preprocessing if asked else None,
            reflexion=asked.reflexion if asked else None,
        )


@Parameter(name="*")
@dataclass(frozen=True)
class ExtractionOptions:
    """How a model is asked, in this run."""

    preprocessing: str | None = None
    "Instructions for the model: a template's name, the text itself, or none."
    reflexion: Annotated[int | None, Parameter(validator=Number(gte=0, lte=3))] = None
    "Times that the model is asked what it missed, 0 to 3 [default: 0]."
    budget: Annotated[tuple[str, ...], _REPEATED] = ()
    "Stop, to go on later, when so much is used: 5usd, '200k tokens', or one of each."

    @property
    def settings(self) -> dict[str, Any]:
        """What of it is a setting."""
        if not self.budget:
            return {}
        from turnetl.settings.units import parse_budget

        return {"budget": parse_budget(self.budget)}

    def limits(self) -> "RunOptions":
        from turnetl.pipeline import RunOptions

        return RunOptions(preprocessing=self.preprocessing, reflexion=self.reflexion)


NO_COMMON, NO_ARCHIVE, NO_SELECTION, NO_NOISE, NO_EXTRACTION = (
    CommonOptions(),
    ArchiveOptions(),
    SelectionOptions(),
    NoiseOptions(),
    ExtractionOptions(),
)

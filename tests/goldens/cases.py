"""The commands whose `--json` output is kept, as they are typed, in the order of their journeys.

In a line, `<folder>` and `<run 1>` stand for what the goldens replace by these names.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.goldens.commands import command_of, json_file
from tests.servers.provider import FakeProvider, Fault


@dataclass(frozen=True)
class Scene:
    """Where a journey takes place."""

    folder: Path
    """The working directory and the home of the user, with a copy of the sample archives."""
    provider: FakeProvider


def _nothing(_: Scene) -> None:
    """Leave the scene as it is."""


@dataclass(frozen=True)
class GoldenCase:
    line: str
    """The arguments but `--json`."""
    case: str = ""
    """What is special about it."""
    code: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment besides those of the journey."""
    before: Callable[[Scene], object] = _nothing
    """Prepares the scene."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.line))

    @property
    def file(self) -> str:
        return json_file(command_of(self.words), self.case)


def _damage_a_table(scene: Scene) -> None:
    """Damage the table of the archive with one turn."""
    tables = (scene.folder / ".turnetl" / "lake" / "turns" / "bookshop").glob("*.parquet")
    sizes = {path: path.stat().st_size for path in tables}
    smallest = min(sizes, key=lambda path: sizes[path])
    os.truncate(smallest, sizes[smallest] // 2)


def _write_config(scene: Scene) -> None:
    (scene.folder / "trusted").mkdir()
    path = scene.folder / "trusted" / "graphiti.config.json"
    path.write_text('{"extractor": "structural"}')


def _refuse_a_request(scene: Scene) -> None:
    scene.provider.faults.append(Fault(400, '{"error": {"message": "no such question"}}'))


_CHECKOUT = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
_EXPORT = "ed982dea-3d57-4c1d-842f-d7459a8238ef"
_LINE = "archives/shoebox/2026-04-19-heic.jsonl:35"

ERRORS = (
    GoldenCase("serch cart", "unknown_command", code=2),
    GoldenCase("search --nonsense", "unknown_option", code=2),
    GoldenCase("search cart -n many", "not_a_number", code=2),
    GoldenCase("search cart -n 0", "out_of_range", code=2),
    GoldenCase("search cart --since soon", "not_a_time", code=2),
    GoldenCase("search cart --sort best", "unknown_choice", code=2),
    GoldenCase("parse", "missing_argument", code=2),
    GoldenCase("formats all", "unexpected_argument", code=2),
    GoldenCase("schema nonsense", "unknown_command", code=2),
    GoldenCase("status --config nowhere.json", "missing_config", code=2),
    GoldenCase("status", "missing_lake"),
    GoldenCase("search cart", "missing_graph", code=1),
    GoldenCase("verify", "missing_graph", code=1),
    GoldenCase("parse nowhere.jsonl", "missing_archive", code=1),
    GoldenCase("why nowhere.py", "missing_file", code=2),
)
"""Before there is a lake."""

STRUCTURAL = (
    *ERRORS,
    GoldenCase("formats"),
    GoldenCase("rules"),
    GoldenCase("config show"),
    GoldenCase("schema"),
    GoldenCase("schema journal stats", "of_a_command"),
    GoldenCase("trust trusted", before=_write_config),
    GoldenCase("trust --list", "list"),
    GoldenCase("trust trusted --revoke", "revoke"),
    GoldenCase("install --all --hooks --dry-run", "dry_run"),
    GoldenCase("install claude-code --yes"),
    GoldenCase("install claude-code --yes", "unchanged"),
    GoldenCase("uninstall --all --yes"),
    GoldenCase("uninstall --all --yes", "unchanged"),
    GoldenCase("sources"),
    GoldenCase("plan archives"),
    GoldenCase("parse archives --dry-run", "dry_run"),
    GoldenCase("parse archives"),
    GoldenCase("parse archives", "unchanged"),
    GoldenCase("filter --explain acknowledgement", "explain"),
    GoldenCase("filter"),
    GoldenCase("ingest --dry-run", "dry_run"),
    GoldenCase("ingest --limit 3"),
    GoldenCase("ingest --group nobody", "unknown_group", code=2),
    GoldenCase("status", "pending"),
    GoldenCase("backfill archives"),
    GoldenCase("retry"),
    GoldenCase("plan --redo --group shoebox", "redo"),
    GoldenCase("status"),
    GoldenCase("runs"),
    GoldenCase("runs show '<run 2>'"),
    GoldenCase("runs show ffff", "unknown_run", code=2),
    GoldenCase("index"),
    GoldenCase("search 'why did the checkout tests fail' -n 3"),
    GoldenCase("search --group shoebox --tool Bash -n 2", "without_query"),
    GoldenCase("search cart --as-of 2026-03-20 -n 2", "as_of"),
    GoldenCase("search checkout --recipe combined-hybrid-search-rrf -n 2", "recipe"),
    GoldenCase("evaluate --questions questions.tsv"),
    GoldenCase("show 66185fa7", "turn"),
    GoldenCase(f"show {_EXPORT}", "session"),
    GoldenCase("show webhook_events", "entity"),
    GoldenCase("show 6bb68c38", "fact"),
    GoldenCase(f"show {_LINE} --raw", "lines"),
    GoldenCase("show nothing", "unknown_id", code=2),
    GoldenCase("timeline -n 3"),
    GoldenCase("sessions -n 2 --tool Bash"),
    GoldenCase(f"resume {_EXPORT}", settings={"PATH": "/nowhere"}),
    GoldenCase("resume kubernetes ingress", "no_match", code=2),
    GoldenCase("digest --group shoebox --since 2026-04"),
    GoldenCase("entity webhook_events -n 1"),
    GoldenCase("entity webhook", "unknown_name", code=2),
    GoldenCase("entity duplicates"),
    GoldenCase("entity merge webhook_events webhook_events --yes", "same"),
    GoldenCase("entity split webhook_events webhook", "not_merged", code=2),
    GoldenCase("file src/bookshop/cart.py -n 1"),
    GoldenCase("fix KeyError"),
    GoldenCase("why bookshop/src/bookshop/cart.py"),
    GoldenCase("why bookshop/src/bookshop/cart.py:4", "line"),
    GoldenCase("report --output report.html"),
    GoldenCase("export --output pages"),
    GoldenCase(f"export --format parquet --session {_EXPORT} --output tables", "parquet"),
    GoldenCase(
        "sql 'SELECT group_id, agent, count(*) AS turns FROM turns GROUP BY ALL ORDER BY ALL'"
    ),
    GoldenCase("sql 'SELECT nothing FROM turns'", "failed", code=2),
    GoldenCase("import tables --machine laptop --lake other --dry-run", "dry_run"),
    GoldenCase("import tables --machine laptop --lake other"),
    GoldenCase("import pages --lake other", "no_turns", code=2),
    GoldenCase("summarize"),
    GoldenCase("summarize --audit 1", "audit"),
    GoldenCase("communities build --dry-run", "dry_run"),
    GoldenCase("communities build"),
    GoldenCase("verify"),
    GoldenCase("graph upgrade"),
    GoldenCase("review"),
    GoldenCase(f"undo --session {_CHECKOUT} --dry-run", "refused", code=1),
    GoldenCase(f"undo --session {_EXPORT} --dry-run", "dry_run"),
    GoldenCase(f"undo --session {_EXPORT} --yes"),
    GoldenCase("status --group bookshop", "undone"),
    GoldenCase("ingest", "undone"),
    GoldenCase("redo --stale", "nothing"),
    GoldenCase(f"redo --session {_EXPORT} --dry-run", "dry_run"),
    GoldenCase(f"redo --session {_EXPORT} --yes"),
    GoldenCase(f"forget --session {_EXPORT} --dry-run", "dry_run"),
    GoldenCase(f"forget --session {_EXPORT} --yes"),
    GoldenCase("runs --limit 1", "last"),
    GoldenCase("entity merge src/bookshop/cart.py src/bookshop/money.py --yes"),
    GoldenCase("entity split src/bookshop/cart.py src/bookshop/money.py --dry-run", "dry_run"),
    GoldenCase("verify", "damaged", code=3, before=_damage_a_table),
)
"""Without a model."""

MODEL = (
    GoldenCase("model check"),
    GoldenCase("config show", "model"),
    GoldenCase("plan archives/shoebox", "model"),
    GoldenCase("plan archives/shoebox --pilot 8", "pilot"),
    GoldenCase("backfill archives/shoebox --dry-run", "dry_run"),
    GoldenCase("backfill archives/shoebox --limit 1", "model"),
    GoldenCase("ingest --budget '2000 tokens'", "budget", code=4),
    GoldenCase("ingest --limit 1", "quarantined", code=3, before=_refuse_a_request),
    GoldenCase("status", "quarantined"),
    GoldenCase("retry", "quarantined"),
    GoldenCase("runs --limit 1", "model"),
    GoldenCase("plan --redo --group shoebox", "redo_model"),
    GoldenCase("status", "stale", settings={"TURNETL_LLM__MODEL": "another"}),
    GoldenCase("redo --stale --dry-run", "stale", settings={"TURNETL_LLM__MODEL": "another"}),
    GoldenCase("search pictures --rerank -n 2", "rerank"),
    GoldenCase("index --questions --dry-run", "estimate"),
    GoldenCase("index --questions", "questions"),
    GoldenCase("evaluate --sample 2 --save before.json", "sample"),
    GoldenCase("evaluate --baseline before.json", "baseline"),
    GoldenCase("communities build", "model"),
    GoldenCase("summarize --dry-run", "dry_run"),
    GoldenCase("templates list"),
    GoldenCase("templates show default-session-turn.md"),
    GoldenCase("templates copy default-session-turn.md"),
    GoldenCase("templates check"),
    GoldenCase("templates compare ./broad.md none --sample 3"),
    GoldenCase("journal stats"),
    GoldenCase("journal prune --all --dry-run", "dry_run"),
    GoldenCase("journal prune --all"),
)
"""With the canned model, on the smaller of both projects."""

MIGRATION = (
    GoldenCase("status", "session_level"),
    GoldenCase("migrate compare", "not_begun", code=2),
    GoldenCase("migrate plan archives"),
    GoldenCase("migrate run archives --dry-run", "dry_run"),
    GoldenCase("migrate run archives"),
    GoldenCase("migrate cutover --yes", "not_compared", code=1),
    GoldenCase("migrate compare"),
    GoldenCase("migrate cutover --dry-run", "dry_run"),
    GoldenCase("migrate cutover --yes"),
    GoldenCase("migrate rollback --yes"),
    GoldenCase("migrate cutover --yes --accept", "again"),
    GoldenCase("status", "migrated"),
    GoldenCase("migrate finish --dry-run", "dry_run"),
    GoldenCase("migrate finish --yes"),
)
"""In a graph with summaries of three sessions."""

JOURNEYS = {"structural": STRUCTURAL, "canned_model": MODEL, "migration": MIGRATION}

"""Runs the commands of a journey in one folder, one after the other, in this process."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from tests.agent_sources.homes import touched, transcript
from tests.cli.command import ROOT, SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.repository import Repository
from tests.goldens.cases import JOURNEYS, GoldenCase, Scene
from tests.goldens.commands import PROGRAM, command_of
from tests.goldens.plain import Json, Surroundings, given, plain, with_ids, written
from tests.legacy.migrating import fill
from tests.legacy.sessions import legacy_sessions
from tests.servers import canned_responses, summary_responses
from tests.servers.provider import serving
from turnetl.base.clock import now

_CHANGED = datetime(2026, 5, 6, tzinfo=UTC)
"""When all archives were written the last time."""
_PRICES = '"openai-compatible/canned" = { input = 0.40, output = 1.60 }\n'
_CART = 'class Cart:\n    def add(self, book):\n        self.add_line(book["price"])\n'
_IN_CENTS = _CART.replace(
    'book["price"]', '\n            book["price_cents"] / 100, quantity\n        '
)


@dataclass(frozen=True)
class PrintedCase:
    result: CommandResult
    text: str
    """The normalised output."""


def printed_by(journey: str, folder: Path) -> Mapping[str, PrintedCase]:
    """Run a journey in an empty folder; return what its cases printed, by the names of goldens."""
    with serving() as provider:
        scene = Scene(folder, provider)
        settings = _SETUPS[journey](scene)
        return dict(_printed(scene, JOURNEYS[journey], settings))


def plain_output(
    result: CommandResult, folder: Path, since: datetime, ids: Mapping[str, str] | None = None
) -> str:
    """Return what a command printed with `--json`, as its golden has it."""
    met = Surroundings(_folders(folder), ids or {}, since, now())
    return written(plain(_object(result), met))


def _printed(
    scene: Scene, cases: Iterable[GoldenCase], settings: Mapping[str, str]
) -> Iterator[tuple[str, PrintedCase]]:
    since, ids = now(), dict[str, str]()
    for case in cases:
        met = Surroundings(_folders(scene.folder), ids, since, now())
        words = [given(word, met) for word in case.words]
        case.before(scene)
        result = _run(words, scene.folder, {**settings, **case.settings})
        ids = dict(with_ids(ids, _object(result)))
        yield case.file, PrintedCase(result, plain_output(result, scene.folder, since, ids))


def _run(words: list[str], folder: Path, settings: Mapping[str, str]) -> CommandResult:
    # Runs record their command, and messages name the next one.
    with patch.object(sys, "argv", [PROGRAM, *words]):
        return run_in_process(*words, "--json", folder=folder, **settings)


def _object(result: CommandResult) -> Json:
    """Return the object that was printed, which is valid if the command has a schema."""
    has_schema = command_of(result.arguments) != PROGRAM
    printed: Json = result.json if has_schema else json.loads(result.stdout)
    return printed


def _folders(folder: Path) -> dict[str, str]:
    # A path may contain links, and commands print some paths without them.
    places = ((folder, "<folder>"), (ROOT, "<checkout>"))
    return {str(form): name for place, name in places for form in (place, place.resolve())}


def _structural(scene: Scene) -> dict[str, str]:
    """Prepare the samples, an archive of an agent, a repository and questions."""
    _copy_samples(scene.folder)
    transcript(scene.folder / ".claude", changed=_CHANGED)
    repository = Repository(scene.folder)
    repository.commit(_CART, "2026-03-01T10:00:00Z")
    repository.commit(_IN_CENTS, "2026-03-03T09:15:00Z")
    questions = (ROOT / "data" / "questions.tsv").read_text(encoding="utf-8")
    here = questions.replace("data/archives", "archives")
    (scene.folder / "questions.tsv").write_text(here, encoding="utf-8")
    return {}


def _model(scene: Scene) -> dict[str, str]:
    """Prepare the samples and a model with a price that answers every request of turnetl."""
    _copy_samples(scene.folder)
    (scene.folder / ".graphiti").mkdir()
    (scene.folder / ".graphiti" / "prices.toml").write_text(_PRICES)
    (scene.folder / "broad.md").write_text("Keep everything that the turn states.")
    scene.provider.counts_text = True
    scene.provider.responders = {**summary_responses.RESPONDERS, **_RESPONDERS}
    # One request after the other: their order decides what a budget admits.
    return model_environment(scene.provider, LLM__CONCURRENCY="1", RUN_AHEAD="0")


def _migration(scene: Scene) -> dict[str, str]:
    """Prepare the samples and a graph with summaries of three of their sessions."""
    _copy_samples(scene.folder)
    graph = f"ladybug://{scene.folder / 'graph.lbug'}"
    fill(graph, legacy_sessions(SAMPLES)[:3])
    return {"TURNETL_GRAPH": graph}


_SETUPS: Mapping[str, Callable[[Scene], dict[str, str]]] = {
    "structural": _structural,
    "canned_model": _model,
    "migration": _migration,
}


def _copy_samples(folder: Path) -> None:
    copy = shutil.copytree(SAMPLES, folder / "archives")
    for path in copy.rglob("*.jsonl"):
        touched(path, _CHANGED)


def _questions(prompt: str) -> canned_responses.Json:
    topic = "pictures" if "picture" in prompt else "builds"
    return {"questions": [f"what did we decide about the {topic}?"]}


def _scores(prompt: str) -> canned_responses.Json:
    numbers = range(prompt.count('"passage"') + 10)
    return {"scores": [{"passage": number, "score": 90 - number} for number in numbers]}


def _communities(prompt: str) -> canned_responses.Json:
    numbers = re.findall(r"^Community (\d+), ", prompt, re.MULTILINE)
    return {
        "communities": [
            {"number": int(number), "name": f"canned {number}", "summary": "what it is about"}
            for number in numbers
        ]
    }


_RESPONDERS: canned_responses.Responders = {
    "questions": _questions,
    "scores": _scores,
    "communities": _communities,
}

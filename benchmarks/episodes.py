"""Measure what the episode texts keep: the share of characters, and the share of labelled facts.

    python -m benchmarks.episodes [--missing] [--noise] [ARCHIVES]

Parses, redacts and filters the archives of tests/real_archives.py into temporary lakes, project by
project, and prints

- the characters of the turns as the archives contain them (`chars_before`, each turn once, marked
  turns included), the characters of the kept episode texts, and the share of these in all turns and
  in the kept turns;
- the share of the words of labels.tsv and of labels_other.tsv that are findable, by kind of fact.

A word is findable if it occurs, in any case, in the text of a kept episode of the *session* that
contains the label's line: as in the list except for leading and trailing punctuation, and not
within a longer word (`105` is not in `1105`, `resume.go` is in `cli/resume.go`). The path of a file
is also findable as its name with the last folder (`cli/resume.go` for `cmd/entire/cli/resume.go`).
The limits apply to this share. Also printed: the share of words in the text of the *turn* that
contains the line, and the share of facts without a missing word. A turn that is marked as noise has
no text.

`--missing` prints each fact with missing words, and these words, in the session or in the turn
alone; `--noise` prints some turns that each rule marks. Without the archives of the labelled
projects there is nothing to measure. Exits with 1 if a limit is exceeded.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.labels import KINDS, LABELS, OTHER, Label, Text, labels
from tests import real_archives
from turnetl import episodes, parsing
from turnetl.base.model import Episode
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

MEASURED_PROJECT = "entireio__cli"
"""The project that the limits apply to; labels.tsv covers it alone."""
MAX_SHARE, MIN_FINDABLE = 15.0, 98.0
"""Limits in %: maximum share of text, minimum share of findable words."""
SAMPLE = 20
"""Maximum turns per rule that `--noise` prints."""


@dataclass(frozen=True, slots=True)
class Place:
    """The lines of a turn in an archive; a turn in several archives has several places."""

    first_line: int
    last_line: int
    turn_id: str
    session_id: str


class Project:
    """A project's episodes, and the places of its turns in the archives."""

    def __init__(self, archives: Path, name: str, lake: Lake) -> None:
        self.name = name
        self._root = archives
        parsing.parse_archives(
            parsing.expand([archives / name]).archives, lake, redactor=SecretRedactor()
        )
        groups = lake.groups()
        episodes.build(lake, groups)
        self.episodes = [episode for group in groups for episode in lake.episodes(group)]
        self._places = _places(lake)

    @cached_property
    def kept(self) -> list[Episode]:
        return [episode for episode in self.episodes if episode.noise is None]

    @property
    def before(self) -> int:
        return sum(episode.chars_before for episode in self.episodes)

    @property
    def after(self) -> int:
        return sum(len(episode.text) for episode in self.kept)

    @property
    def share(self) -> float:
        """Share of the kept turns alone, in %: marking more turns does not lower it."""
        return percent(self.after, sum(episode.chars_before for episode in self.kept))

    @cached_property
    def sessions(self) -> Mapping[str, Text]:
        texts: dict[str, list[str]] = defaultdict(list)
        for episode in self.kept:
            texts[episode.turn.session_id].append(episode.text)
        return {session: Text(parts) for session, parts in texts.items()}

    @cached_property
    def turns(self) -> Mapping[str, Text]:
        return {episode.turn_id: Text([episode.text]) for episode in self.kept}

    def place(self, label: Label) -> Place:
        """Return the turn that contains the label's line.

        Raises:
            ValueError: no turn does.
        """
        archive = str((self._root / label.archive).absolute())
        for place in self._places.get(archive, ()):
            if place.first_line <= label.line <= place.last_line:
                return place
        msg = f"no turn of `{label.archive}` contains line {label.line}"
        raise ValueError(msg)


def _places(lake: Lake) -> Mapping[str, Sequence[Place]]:
    places: dict[str, list[Place]] = defaultdict(list)
    columns = ("archive", "first_line", "last_line", "turn_id", "session_id")
    for group in lake.groups():
        for archive, *place in lake.scan_turns(group).select(columns).collect().iter_rows():
            places[archive].append(Place(*place))
    return places


@dataclass(frozen=True, slots=True)
class LabelResult:
    """A label, and its missing words."""

    label: Label
    session_id: str
    missing: tuple[str, ...]
    """In the texts of the session."""
    missing_in_turn: tuple[str, ...]
    """In the text of the turn."""


def evaluate(label: Label, project: Project) -> LabelResult:
    place, empty = project.place(label), Text([])
    session = project.sessions.get(place.session_id, empty)
    turn = project.turns.get(place.turn_id, empty)
    missing, missing_in_turn = session.missing(label.words), turn.missing(label.words)
    return LabelResult(label, place.session_id, missing, missing_in_turn)


def main(archives: Path, *, missing: bool, noise: bool) -> bool:
    """Print the results; return whether they are within the limits."""
    lists = {LABELS.name: labels(LABELS), OTHER.name: labels(OTHER)}
    names = sorted({label.project for listed in lists.values() for label in listed})
    if not all((archives / name).is_dir() for name in names):
        print("Nothing to measure: the archives of the labelled projects are missing.")
        return True
    projects = build(archives)
    print_sizes(projects)
    results = {
        name: [evaluate(label, projects[label.project]) for label in listed]
        for name, listed in lists.items()
    }
    for name, evaluated in results.items():
        print_words(name, evaluated)
    if missing:
        for evaluated in results.values():
            print_missing(evaluated)
    if noise:
        print_noise(projects)
    return within_limits(projects[MEASURED_PROJECT].share, results[LABELS.name])


def build(archives: Path) -> Mapping[str, Project]:
    """Return the projects, each from a temporary lake."""
    projects = {}
    for name in sorted(path.name for path in archives.iterdir() if path.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            projects[name] = Project(archives, name, Lake(Path(folder)))
    return projects


def print_sizes(projects: Mapping[str, Project]) -> None:
    print(f"{'':32}  turns   kept       before      after    share  of kept turns")
    for name, project in projects.items():
        share = percent(project.after, project.before)
        print(
            f"{name:32}{len(project.episodes):7}{len(project.kept):7}{project.before:13,}", end=""
        )
        print(f"{project.after:11,}{share:7.1f} %{project.share:13.1f} %")


def print_words(title: str, results: Sequence[LabelResult]) -> None:
    archives = {result.label.archive for result in results}
    sessions = {result.session_id for result in results}
    print(f"\n{title}: {len(results)} facts", end=" ")
    print(f"of {len(sessions)} sessions in {len(archives)} archives, and their findable share")
    print(f"{'':12} facts  words   in the session  in the turn   whole facts  in the turn")
    for kind in (*KINDS, "all"):
        of_kind = [result for result in results if kind in (result.label.kind, "all")]
        print(f"  {kind:10}{len(of_kind):6}{_count(of_kind):7}", end="")
        print(f"{in_session(of_kind):15.1f} %{in_turn(of_kind):11.1f} %", end="")
        whole = (
            sum(not result.missing for result in of_kind),
            sum(not result.missing_in_turn for result in of_kind),
        )
        print("".join(f"{percent(count, len(of_kind)):12.1f} %" for count in whole))


def in_session(results: Sequence[LabelResult]) -> float:
    return 100 - percent(sum(len(result.missing) for result in results), _count(results))


def in_turn(results: Sequence[LabelResult]) -> float:
    return 100 - percent(sum(len(result.missing_in_turn) for result in results), _count(results))


def _count(results: Sequence[LabelResult]) -> int:
    return sum(len(result.label.words) for result in results)


def percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def print_missing(results: Sequence[LabelResult]) -> None:
    print()
    for scope, by_label in (
        ("session", {result.label: result.missing for result in results}),
        (
            "turn",
            {result.label: result.missing_in_turn for result in results if not result.missing},
        ),
    ):
        for label, missing in by_label.items():
            if missing:
                print(f"  {scope:8}{label.kind:10}{label.archive}:{label.line}", end="")
                print(f"  missing {' '.join(missing)}  of {' '.join(label.words)}")


def print_noise(projects: Mapping[str, Project]) -> None:
    marked: dict[str, list[str]] = defaultdict(list)
    for project in projects.values():
        for episode in project.episodes:
            if episode.noise is not None:
                prompt = " ".join(episode.turn.user_text.split())[:100]
                line = f"{project.name}  {episode.turn.archive[-40:]}:{episode.turn.first_line}"
                marked[episode.noise].append(f"{line}  {episode.chars_before} characters  {prompt}")
    for rule, lines in sorted(marked.items()):
        print(f"\n{rule}: {len(lines)} turns")
        # Spread over all of them, because neighbours are alike.
        for line in lines[:: -(-len(lines) // SAMPLE)]:
            print(f"  {line}")


def within_limits(share: float, results: Sequence[LabelResult]) -> bool:
    findable = in_session(results)
    print(f"\n  {share:8.2f} % of the characters of {MEASURED_PROJECT} (at most {MAX_SHARE:g})")
    print(f"  {findable:8.2f} % of the words of {LABELS.name} (at least {MIN_FINDABLE:g})")
    return share <= MAX_SHARE and findable >= MIN_FINDABLE


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    parser.add_argument("--missing", action="store_true", help="print facts with missing words")
    parser.add_argument("--noise", action="store_true", help="print marked turns")
    args = parser.parse_args()
    sys.exit(not main(args.archives, missing=args.missing, noise=args.noise))

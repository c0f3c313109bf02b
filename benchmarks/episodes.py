"""What is left of the archives in the episode texts: how much of them, and of what matters.

    python -m benchmarks.episodes [--lost] [--noise] [ARCHIVES]

Takes the archives of tests/real.py through parse, redaction and filter into a lake for this run,
project by project, and prints

- the characters of the turns as the archives have them (`chars_before`, each turn once, the marked
  ones too), those of the episode texts that are kept, and what share these are, of all turns and of
  the kept ones alone;
- how many of the words of labels.tsv and of labels_other.tsv are findable, by kind of fact.

A word is findable if it stands, in any case, in the text of a kept episode of the *session* that
the label's line belongs to: as in the list but for punctuation at its ends, and not inside of a
longer word (`105` is not in `1105`, `resume.go` is in `cli/resume.go`). The path of a file is also
findable as its name with the last folder (`cli/resume.go` for `cmd/entire/cli/resume.go`). The
promises are about that. Beside it stand the words that are in the text of the very *turn* that
holds the line, and the facts of which no word is missing. A turn that is marked as noise has no
text.

`--lost` prints each fact that misses words, with these words, in the session or in the turn alone;
`--noise` some turns that each rule marks. Without archives of the projects that the lists are
about, there is nothing to measure. Exits with 1 beyond a promise.
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
from tests import real
from turnetl import episodes, parse
from turnetl.lake import Lake
from turnetl.model import Episode
from turnetl.redact import SecretRedactor

PROMISED = "entireio__cli"
"""The project that the promises are about; labels.tsv is about it alone."""
SHARE, FINDABLE = 15.0, 98.0
"""Promises, in %: at most so much text, at least so many words."""
SAMPLE = 20
"""Turns of a rule that `--noise` prints."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands. One that several archives hold stands in several places."""

    first_line: int
    last_line: int
    turn_id: str
    session_id: str


class Project:
    """A project's episodes, and where its archives have their turns."""

    def __init__(self, archives: Path, name: str, lake: Lake) -> None:
        self.name = name
        self._root = archives
        parse.parse_archives(
            parse.expand([archives / name]).archives, lake, redactor=SecretRedactor()
        )
        groups = lake.groups()
        episodes.build(lake, groups)
        self.episodes = [one for group in groups for one in lake.episodes(group)]
        self._places = _places(lake)

    @cached_property
    def kept(self) -> list[Episode]:
        return [one for one in self.episodes if one.noise is None]

    @property
    def before(self) -> int:
        return sum(one.chars_before for one in self.episodes)

    @property
    def after(self) -> int:
        return sum(len(one.text) for one in self.kept)

    @property
    def share(self) -> float:
        """Of the kept turns alone, in %: to mark more of them does not make it smaller."""
        return percent(self.after, sum(one.chars_before for one in self.kept))

    @cached_property
    def sessions(self) -> Mapping[str, Text]:
        texts: dict[str, list[str]] = defaultdict(list)
        for one in self.kept:
            texts[one.turn.session_id].append(one.text)
        return {session: Text(said) for session, said in texts.items()}

    @cached_property
    def turns(self) -> Mapping[str, Text]:
        return {one.turn_id: Text([one.text]) for one in self.kept}

    def place(self, label: Label) -> Place:
        """Return the turn that holds the label's line.

        Raises:
            ValueError: none does.
        """
        archive = str((self._root / label.archive).absolute())
        for place in self._places.get(archive, ()):
            if place.first_line <= label.line <= place.last_line:
                return place
        msg = f"no turn of `{label.archive}` holds line {label.line}"
        raise ValueError(msg)


def _places(lake: Lake) -> Mapping[str, Sequence[Place]]:
    found: dict[str, list[Place]] = defaultdict(list)
    columns = ("archive", "first_line", "last_line", "turn_id", "session_id")
    for group in lake.groups():
        for archive, *place in lake.scan_turns(group).select(columns).collect().iter_rows():
            found[archive].append(Place(*place))
    return found


@dataclass(frozen=True, slots=True)
class Judged:
    """A label, and which of its words are missing."""

    label: Label
    session_id: str
    lost: tuple[str, ...]
    """From the texts of the session."""
    lost_in_turn: tuple[str, ...]


def judge(label: Label, project: Project) -> Judged:
    place, nothing = project.place(label), Text([])
    session = project.sessions.get(place.session_id, nothing)
    turn = project.turns.get(place.turn_id, nothing)
    lost, lost_in_turn = session.lacks(label.words), turn.lacks(label.words)
    return Judged(label, place.session_id, lost, lost_in_turn)


def main(archives: Path, *, lost: bool, noise: bool) -> bool:
    """Print all; say whether the promises are kept."""
    lists = {LABELS.name: labels(LABELS), OTHER.name: labels(OTHER)}
    names = sorted({one.project for found in lists.values() for one in found})
    if not all((archives / name).is_dir() for name in names):
        print("Nothing to measure: the archives that the labels are about are not here.")
        return True
    projects = measured(archives)
    sizes(projects)
    found = {name: [judge(one, projects[one.project]) for one in of] for name, of in lists.items()}
    for name, judged in found.items():
        words(name, judged)
    if lost:
        for judged in found.values():
            print_lost(judged)
    if noise:
        print_noise(projects)
    return promised(projects[PROMISED].share, found[LABELS.name])


def measured(archives: Path) -> Mapping[str, Project]:
    """Return the projects, each made in a lake of its own that is gone again."""
    projects = {}
    for name in sorted(path.name for path in archives.iterdir() if path.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            projects[name] = Project(archives, name, Lake(Path(folder)))
    return projects


def sizes(projects: Mapping[str, Project]) -> None:
    print(f"{'':32}  turns   kept       before      after    share  of kept turns")
    for name, one in projects.items():
        share = percent(one.after, one.before)
        print(f"{name:32}{len(one.episodes):7}{len(one.kept):7}{one.before:13,}", end="")
        print(f"{one.after:11,}{share:7.1f} %{one.share:13.1f} %")


def words(title: str, judged: Sequence[Judged]) -> None:
    archives = {one.label.archive for one in judged}
    sessions = {one.session_id for one in judged}
    print(f"\n{title}: {len(judged)} facts", end=" ")
    print(f"of {len(sessions)} sessions in {len(archives)} archives, and what is findable of them")
    print(f"{'':12} facts  words   in the session  in the turn   facts whole  in the turn")
    for kind in (*KINDS, "all"):
        some = [one for one in judged if kind in (one.label.kind, "all")]
        print(f"  {kind:10}{len(some):6}{_count(some):7}", end="")
        print(f"{in_session(some):15.1f} %{in_turn(some):11.1f} %", end="")
        whole = sum(not one.lost for one in some), sum(not one.lost_in_turn for one in some)
        print("".join(f"{percent(count, len(some)):12.1f} %" for count in whole))


def in_session(judged: Sequence[Judged]) -> float:
    return 100 - percent(sum(len(one.lost) for one in judged), _count(judged))


def in_turn(judged: Sequence[Judged]) -> float:
    return 100 - percent(sum(len(one.lost_in_turn) for one in judged), _count(judged))


def _count(judged: Sequence[Judged]) -> int:
    return sum(len(one.label.words) for one in judged)


def percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def print_lost(judged: Sequence[Judged]) -> None:
    print()
    for where, lacking in (
        ("session", {one.label: one.lost for one in judged}),
        ("turn", {one.label: one.lost_in_turn for one in judged if not one.lost}),
    ):
        for label, lost in lacking.items():
            if lost:
                print(f"  {where:8}{label.kind:10}{label.archive}:{label.line}", end="")
                print(f"  lost {' '.join(lost)}  of {' '.join(label.words)}")


def print_noise(projects: Mapping[str, Project]) -> None:
    marked: dict[str, list[str]] = defaultdict(list)
    for project in projects.values():
        for one in project.episodes:
            if one.noise is not None:
                said = " ".join(one.turn.user_text.split())[:100]
                line = f"{project.name}  {one.turn.archive[-40:]}:{one.turn.first_line}"
                marked[one.noise].append(f"{line}  {one.chars_before} characters  {said}")
    for rule, lines in sorted(marked.items()):
        print(f"\n{rule}: {len(lines)} turns")
        # Spread over all of them: neighbours are alike.
        for line in lines[:: -(-len(lines) // SAMPLE)]:
            print(f"  {line}")


def promised(share: float, judged: Sequence[Judged]) -> bool:
    found = in_session(judged)
    print(f"\n  {share:8.2f} % of the characters of {PROMISED} (at most {SHARE:g})")
    print(f"  {found:8.2f} % of the words of {LABELS.name} (at least {FINDABLE:g})")
    return share <= SHARE and found >= FINDABLE


if __name__ == "__main__":
    told = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    told.add_argument("archives", nargs="?", default=real.ARCHIVES, type=Path)
    told.add_argument("--lost", action="store_true", help="print what is not findable")
    told.add_argument("--noise", action="store_true", help="print turns that are marked")
    given = told.parse_args()
    sys.exit(not main(given.archives, lost=given.lost, noise=given.noise))

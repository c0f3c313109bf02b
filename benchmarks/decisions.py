"""Precision and recall of the structural extractor on decisions, preferences and rejections.

    python -m benchmarks.decisions [--errors] [ARCHIVES]

The labelled candidates of decisions.tsv are sentences of real archives; the file has only their
digests, so without the archives nothing is measured. A label is `decision`, `preference`,
`rejected` or `none`: a sentence that reports, explains, proposes or announces is none. A candidate
is predicted by the fact of its turn that ends with it: DECIDED, PREFERS or REJECTED.

The rules were fitted on the candidates of the part `tune`. Those of the part `held` are of other
archives, and were seen only as totals while the rules were written: rules that were fitted on a
half were right in 12 of 32 predictions in the other, so that most of it was moved to `tune`. The
part `held` has nearly all sentences of its archives. Only 13 of them state something: it shows
whether the rules find what is not there, and hardly how much they miss.

Exits with 1 if the precision over all kinds is below 0.9 in either part, or the recall in the part
`tune` below 0.5.
"""

import argparse
import csv
import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import real_archives
from turnetl import pipeline
from turnetl.base.model import Episode, Turn
from turnetl.extraction.structural import prose
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import FactDraft
from turnetl.lake import Lake
from turnetl.settings import Settings

CANDIDATES = Path(__file__).with_name("decisions.tsv")
NONE = "none"
KINDS = {"DECIDED": "decision", "PREFERS": "preference", "REJECTED": "rejected"}
"""The label of a relation, the first that applies: a decision may also reject by name."""
MIN_PRECISION, MIN_RECALL = 0.9, 0.5


@dataclass(frozen=True)
class Candidate:
    part: str
    label: str
    speaker: str
    """`user`, `agent`, or `answer` for what the user answered inside a call."""
    turn_id: str
    digest: str


@dataclass(frozen=True)
class Scores:
    """Counts of one kind, or of all kinds together."""

    correct: int
    predicted: int
    labelled: int

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        return self.correct / self.labelled if self.labelled else 1.0

    def __str__(self) -> str:
        return (
            f"precision {share(self.correct, self.predicted)}"
            f"  recall {share(self.correct, self.labelled)}"
        )


def share(part: int, whole: int) -> str:
    """Return a share with its counts; nothing of nothing is no share."""
    return f"{part / whole:.2f} ({part}/{whole})" if whole else f"-    (0/{whole})"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--errors", action="store_true", help="print errors of the part `tune`")
    given = arguments.parse_args()
    if not given.archives.is_dir():
        print("Nothing to measure: the archives that the candidates are from are missing.")
        return
    candidates = list(read_candidates())
    with tempfile.TemporaryDirectory() as folder:
        turns = read_turns(given.archives, Settings(lake=Path(folder)))
    sentences = {c: sentence for c in candidates if (sentence := find(c, turns)) is not None}
    print(f"{len(sentences)} of {len(candidates)} candidates found")
    predictions = {c: predict(c, turns[c.turn_id], sentence) for c, sentence in sentences.items()}
    if given.errors:
        print_errors(predictions, sentences)
    if not report(predictions):
        sys.exit("precision or recall of decisions, preferences and rejections is too low")


def read_candidates() -> Iterator[Candidate]:
    with CANDIDATES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            columns = ("part", "label", "speaker", "turn_id", "digest")
            yield Candidate(*(row[column] for column in columns))


def read_turns(archives: Path, settings: Settings) -> dict[str, Episode]:
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    lake = Lake(settings.lake)
    episodes = (episode for group in lake.groups() for episode in lake.episodes(group))
    return {episode.turn_id: episode for episode in episodes if episode.noise is None}


def find(candidate: Candidate, turns: Mapping[str, Episode]) -> str | None:
    """Return the sentence of a candidate, or None if its turn is missing or has changed."""
    episode = turns.get(candidate.turn_id)
    if episode is None:
        return None
    texts = texts_of(candidate.speaker, episode.turn)
    return next((text for text in texts if digest(text) == candidate.digest), None)


def texts_of(speaker: str, turn: Turn) -> Iterator[str]:
    texts: Sequence[str] = {
        "agent": (turn.assistant_text,),
        "user": (turn.user_text, *turn.steering),
        "answer": turn.user_answers,
    }[speaker]
    for text in texts:
        yield text
        yield from prose.sentences(prose.plain(text))


def digest(sentence: str) -> str:
    return hashlib.sha256(" ".join(sentence.split()).encode()).hexdigest()[:16]


def predict(candidate: Candidate, episode: Episode, sentence: str) -> str:
    """Return the label that the extractor gives the sentence."""
    found = {fact.relation for fact in extract_findings(episode, ()).facts
             if fact.relation in KINDS and states(fact, candidate.speaker, sentence)}  # fmt: skip
    return next((label for relation, label in KINDS.items() if relation in found), NONE)


def states(fact: FactDraft, speaker: str, sentence: str) -> bool:
    if fact.text.startswith("The agent ") != (speaker == "agent"):
        return False
    words = " ".join(sentence.split())
    is_part = speaker == "answer" and words in fact.text
    return is_part or fact.text.endswith(f": {words}") or fact.source.name == words


def report(predictions: Mapping[Candidate, str]) -> bool:
    """Print the table; return whether precision and recall suffice."""
    is_good = True
    for part in ("tune", "held"):
        selected = [candidate for candidate in predictions if candidate.part == part]
        print(f"\n{part}: {len(selected)} candidates")
        for kind in (*KINDS.values(), "any kind"):
            counted = scores(selected, kind, predictions)
            print(f"  {kind:11} {counted}")
        is_good &= counted.precision >= MIN_PRECISION
        is_good &= part != "tune" or counted.recall >= MIN_RECALL
    return is_good


def scores(
    candidates: Iterable[Candidate], kind: str, predictions: Mapping[Candidate, str]
) -> Scores:
    """Count one kind, or all of them."""
    counts = Counter[str]()
    for candidate in candidates:
        predicted = predictions[candidate]
        is_predicted, is_labelled = is_of(kind, predicted), is_of(kind, candidate.label)
        counts.update(
            predicted=is_predicted,
            labelled=is_labelled,
            correct=is_labelled and predicted == candidate.label,
        )
    return Scores(counts["correct"], counts["predicted"], counts["labelled"])


def is_of(kind: str, label: str) -> bool:
    return label == kind or (kind not in KINDS.values() and label != NONE)


def print_errors(predictions: Mapping[Candidate, str], sentences: Mapping[Candidate, str]) -> None:
    """Print errors of the part `tune` only: who reads the others fits the rules to them."""
    print()
    for candidate, predicted in predictions.items():
        if candidate.part == "tune" and predicted != candidate.label:
            print(f"  {candidate.label:10} as {predicted:10} {candidate.speaker:6} "
                  f"{sentences[candidate][:160]}")  # fmt: skip


if __name__ == "__main__":
    main()

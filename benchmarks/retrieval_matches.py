"""Whether a search says that something was never a subject, and how often it says so wrongly.

    python -m benchmarks.retrieval_matches [--lake FOLDER] [--errors] [ARCHIVES]

Each question of `benchmarks/questions.py` is searched for as `turnetl search` does. Printed are,
with 95 % Wilson intervals, for questions about subjects that never came up and for others:

- no hits: nothing is close to the question;
- weak: all hits are weak matches;
- words: no hit has some word of the question;
- no mark: none of these, so that the page looks as if it answered.

The rules were made with the parts `match`, `tune` and `held`. The totals of `match-unseen`, `other`
and `blind` were printed while they were made: only `sealed` is a clean hold-out, and only until
somebody changes a limit with its figures in mind. `--lake` keeps the index for the next run;
`--errors` prints questions of the parts that may be looked at.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.questions import ABSENT, SEALED, BenchmarkQuestion, read_questions
from tests import real_archives
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.evaluation.intervals import wilson
from turnetl.ingestion import plan
from turnetl.pipeline.index import current_index
from turnetl.retrieval.match import Match, missing_from_all
from turnetl.retrieval.search import search
from turnetl.settings import Settings

_SEEN = ("match", "tune", "held")
_PARTS = (*_SEEN, "match-unseen", "other", "blind", SEALED)
_MARKS = ("no hits", "weak", "words", "no mark")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--lake", type=Path, help="a folder to keep; default: a temporary one")
    arguments.add_argument("--errors", action="store_true")
    given = arguments.parse_args()
    if not given.archives.is_dir():
        print("Nothing to measure: the archives that the questions are about are missing.")
        return
    projects = [str(path) for path in sorted(given.archives.iterdir()) if path.is_dir()]
    with nullcontext(given.lake) if given.lake else tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Settings(lake=Path(folder)), projects, errors=given.errors))


async def _measure(settings: Settings, projects: Sequence[str], *, errors: bool) -> None:
    options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
    await pipeline.backfill(projects, settings, options, now)
    found: list[tuple[BenchmarkQuestion, str]] = []
    async with current_index(settings, now) as opened:
        for question in read_questions():
            shown = await search(
                opened.index, question.text, opened.embedder, thesaurus=wiring.thesaurus()
            )
            missing = missing_from_all(hit.missing_words for hit in shown.hits)
            if not shown.hits:
                mark = "no hits"
            elif all(hit.match is Match.WEAK for hit in shown.hits):
                mark = "weak"
            else:
                mark = "words" if missing else "no mark"
            found.append((question, mark))
            is_absent = question.kind == ABSENT
            wrong = mark == "no mark" if is_absent else mark in _MARKS[:2]
            if errors and wrong and question.part in _SEEN:
                print(f"  {question.part:6} {mark:8} {question.text}  {', '.join(missing)}")
    _print_shares(found)


def _print_shares(found: Sequence[tuple[BenchmarkQuestion, str]]) -> None:
    for is_absent, title in ((True, "never a subject"), (False, "answerable")):
        print(f"\n{title}")
        for part in (*_PARTS, "all"):
            marks = [
                mark
                for question, mark in found
                if (question.kind == ABSENT) is is_absent and part in (question.part, "all")
            ]
            if marks:
                shares = (_share(marks.count(mark), len(marks)) for mark in _MARKS)
                columns = "   ".join(
                    f"{mark} {share}" for mark, share in zip(_MARKS, shares, strict=True)
                )
                print(f"  {part:12} {len(marks):3}   {columns}")


def _share(count: int, whole: int) -> str:
    low, high = wilson(count, whole)
    return f"{count / whole:.2f} ({low:.2f}-{high:.2f})"


if __name__ == "__main__":
    main()

"""What every content type promises."""

import polars as pl
import pytest

from tests.episodes.content.samples import SAMPLES, Sample, frame
from turnetl.episodes.content import BLOCKS, OUTCOMES, ContentType, condense, detect

KINDS = {kind.name: kind for kind in (*OUTCOMES, *BLOCKS)}
HARD = (
    "x" * 5_000_000,
    "at a.b(c:1) " * 400_000,
    '{"a":' * 1_000_000,
    'File "a", line 1, in b error: 1 failed ' * 100_000,
)
"""One line each, of 4 MB and more."""
PLAIN = ("", " ", "\n\n", "ok", "a\nb", "ä\x00ö", "error", "}{", "@@ -1 +1 @@", "Traceback", "{}")

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def kinds_of(sample: Sample) -> tuple[ContentType, ...]:
    return BLOCKS if sample.role == "code" else OUTCOMES


def short(sample: Sample) -> str:
    return str(condense(frame(sample), kinds_of(sample))[0])


def test_every_kind_has_samples() -> None:
    assert {sample.kind for sample in SAMPLES} == set(KINDS)


@each_sample
def test_a_text_is_of_its_kind(sample: Sample) -> None:
    assert detect(frame(sample), kinds_of(sample))[0] == sample.kind


@each_sample
def test_what_a_kind_promises_is_kept_on_one_line_and_the_rest_is_gone(sample: Sample) -> None:
    told = short(sample)
    assert [words for words in sample.kept if words not in told] == [], told
    assert [words for words in sample.gone if words in told] == [], told
    assert "\n" not in told


@each_sample
def test_a_text_gets_never_longer_but_for_the_marks_between_its_lines(sample: Sample) -> None:
    assert len(short(sample)) <= len(sample.text) + sample.text.count("\n")


@each_kind
def test_no_text_breaks_a_kind_and_what_is_blank_stays_blank(kind: ContentType) -> None:
    texts = [Sample(kind.name, text, role=role) for text in PLAIN for role in ("runs", "code")]
    rows = frame(*texts)
    told = rows.select(kind.matches.alias("told"), text=kind.condensed)
    assert told.null_count().row(0) == (0, 0)
    taken = condense(rows, (kind,))
    assert taken.null_count() == 0
    for before, after in zip(rows["text"], taken, strict=True):
        assert len(after) <= len(before) + before.count("\n")
        assert before.strip() or not after


@each_kind
def test_a_text_is_shortened_whatever_stands_beside_it(kind: ContentType) -> None:
    alone = [condense(frame(sample), (kind,))[0] for sample in SAMPLES]
    assert condense(frame(*SAMPLES), (kind,)).to_list() == alone
    backwards = condense(frame(*reversed(SAMPLES)), (kind,))
    assert backwards.to_list() == alone[::-1]


@each_kind
@pytest.mark.parametrize("text", HARD, ids=lambda text: str(text[:12]))
def test_one_line_of_megabytes_ends_in_a_short_line(kind: ContentType, text: str) -> None:
    rows = frame(Sample(kind.name, text))
    told = rows.select(kind.matches.alias("told"), text=kind.condensed)
    assert len(told["text"][0]) < 3000


@each_kind
def test_no_kind_calls_python_for_each_row(kind: ContentType) -> None:
    assert not calls_python(kind.matches)
    assert not calls_python(kind.condensed)


def test_a_call_of_python_would_be_seen() -> None:
    assert calls_python(pl.col("text").map_elements(str.upper, return_dtype=pl.String))


def calls_python(expression: pl.Expr) -> bool:
    return "python_udf" in str(expression)


def test_the_first_kind_that_takes_a_text_shortens_it() -> None:
    one = ContentType("one", pl.col("text") == "a", pl.lit("1"))
    two = ContentType("two", pl.lit(value=True), pl.lit("2"))
    rows = frame(Sample("", "a"), Sample("", "b"), Sample("", "a"))
    assert condense(rows, (one, two)).to_list() == ["1", "2", "1"]
    assert detect(rows, (one, two)).to_list() == ["one", "two", "one"]
    assert condense(rows, (one,)).to_list() == ["1", "", "1"]


def test_a_kind_that_makes_a_text_longer_is_not_believed() -> None:
    longer = ContentType("longer", pl.lit(value=True), pl.lit("much longer than that"))
    assert condense(frame(Sample("", "a\n\n b")), (longer,)).to_list() == ["a; b"]

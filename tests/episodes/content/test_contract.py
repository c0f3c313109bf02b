"""The contract of every content type."""

from collections.abc import Sequence

import polars as pl
import pytest

from tests.episodes.content.samples import SAMPLES, Sample, frame
from turnetl.episodes.content import BLOCKS, RESULTS, ContentType, condense

TYPES = {content_type.name: content_type for content_type in (*RESULTS, *BLOCKS)}
LARGE = (
    "x" * 5_000_000,
    "at a.b(c:1) " * 400_000,
    '{"a":' * 1_000_000,
    'File "a", line 1, in b error: 1 failed ' * 100_000,
)
"""One line each, of at least 4 MB."""
PLAIN = ("", " ", "\n\n", "ok", "a\nb", "ä\x00ö", "error", "}{", "@@ -1 +1 @@", "Traceback", "{}")

each_type = pytest.mark.parametrize("content_type", TYPES.values(), ids=TYPES)
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def types_for(sample: Sample) -> tuple[ContentType, ...]:
    return BLOCKS if sample.role == "code" else RESULTS


def condensed(sample: Sample) -> str:
    return str(condense(frame(sample), types_for(sample))[0])


def matching(texts: pl.DataFrame, types: Sequence[ContentType]) -> list[str | None]:
    """Return for each row the name of the first type that matches."""
    names = [
        pl.when(content_type.matches).then(pl.lit(content_type.name)) for content_type in types
    ]
    return texts.select(pl.coalesce(*names).alias("name"))["name"].to_list()


def test_every_content_type_has_samples() -> None:
    assert {sample.content_type for sample in SAMPLES} == set(TYPES)


@each_sample
def test_a_text_is_detected_as_its_content_type(sample: Sample) -> None:
    assert matching(frame(sample), types_for(sample))[0] == sample.content_type


@each_sample
def test_the_expected_phrases_are_kept_on_one_line_and_the_others_are_removed(
    sample: Sample,
) -> None:
    text = condensed(sample)
    assert [phrase for phrase in sample.kept if phrase not in text] == [], text
    assert [phrase for phrase in sample.removed if phrase in text] == [], text
    assert "\n" not in text


@each_sample
def test_a_text_never_gets_longer_except_for_line_separators(sample: Sample) -> None:
    assert len(condensed(sample)) <= len(sample.text) + sample.text.count("\n")


@each_type
def test_no_text_is_an_error_and_a_blank_text_stays_blank(content_type: ContentType) -> None:
    texts = [
        Sample(content_type.name, text, role=role) for text in PLAIN for role in ("run", "code")
    ]
    rows = frame(*texts)
    evaluated = rows.select(content_type.matches.alias("matches"), text=content_type.condensed)
    assert evaluated.null_count().row(0) == (0, 0)
    texts_after = condense(rows, (content_type,))
    assert texts_after.null_count() == 0
    for before, after in zip(rows["text"], texts_after, strict=True):
        assert len(after) <= len(before) + before.count("\n")
        assert before.strip() or not after


@each_type
def test_a_text_is_condensed_independently_of_other_texts(content_type: ContentType) -> None:
    alone = [condense(frame(sample), (content_type,))[0] for sample in SAMPLES]
    assert condense(frame(*SAMPLES), (content_type,)).to_list() == alone
    backwards = condense(frame(*reversed(SAMPLES)), (content_type,))
    assert backwards.to_list() == alone[::-1]


@each_type
def test_a_line_of_megabytes_becomes_a_short_line(content_type: ContentType) -> None:
    rows = frame(*(Sample(content_type.name, text) for text in LARGE))
    evaluated = rows.select(content_type.matches.alias("matches"), text=content_type.condensed)
    assert evaluated["text"].str.len_chars().max() < 3000  # type: ignore[operator]


@each_type
def test_no_content_type_calls_python_for_each_row(content_type: ContentType) -> None:
    assert not calls_python(content_type.matches)
    assert not calls_python(content_type.condensed)


def test_a_call_of_python_is_detected() -> None:
    assert calls_python(pl.col("text").map_elements(str.upper, return_dtype=pl.String))


def calls_python(expression: pl.Expr) -> bool:
    return "python_udf" in str(expression)


def test_the_first_matching_content_type_condenses_a_text() -> None:
    first = ContentType("one", pl.col("text") == "a", pl.lit("1"))
    two = ContentType("two", pl.lit(value=True), pl.lit("2"))
    rows = frame(Sample("", "a"), Sample("", "b"), Sample("", "a"))
    assert condense(rows, (first, two)).to_list() == ["1", "2", "1"]
    assert matching(rows, (first, two)) == ["one", "two", "one"]
    assert condense(rows, (first,)).to_list() == ["1", "", "1"]


def test_a_condensed_text_that_is_longer_is_replaced_by_the_text() -> None:
    longer = ContentType("longer", pl.lit(value=True), pl.lit("much longer than that"))
    assert condense(frame(Sample("", "a\n\n b")), (longer,)).to_list() == ["a; b"]

"""URLs of folders in object stores."""

from pathlib import Path

import pytest

from turnetl.base.object_url import (
    ObjectUrl,
    archive_url,
    cache_folder,
    object_url,
    shown_name,
    url_text,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/team/lake", ObjectUrl("s3", "bucket", "team/lake")),
        ("S3://bucket/lake/", ObjectUrl("s3", "bucket", "lake")),
        ("gs://b", ObjectUrl("gs", "b", "")),
        ("az://container/a b/x=1", ObjectUrl("az", "container", "a b/x=1")),
        ("/home/me/lake", None),
        ("https://host/lake", None),
        ("file:x", None),
    ],
)
def test_a_url_names_a_bucket_and_a_prefix(text: str, expected: ObjectUrl | None) -> None:
    assert object_url(text) == expected
    if "//" in text:
        assert object_url(Path(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["s3://", "s3:///lake", "s3://key:secret@b/x", "s3://b/../x", "s3://b/x?a=1", "gs://b//x"],
)
def test_a_url_that_names_no_folder_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be `\w\w://bucket/prefix`") as refused:
        object_url(text)
    assert "secret" not in str(refused.value)


def test_copies_are_in_the_cache_of_the_user() -> None:
    assert cache_folder({}, Path("/home/me")) == Path("/home/me/.cache/turnetl-objects")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}, Path("/h")) == Path("/c/turnetl-objects")
    assert cache_folder({"XDG_CACHE_HOME": "c"}, Path("/h")) == Path("/h/.cache/turnetl-objects")


def test_a_copy_is_shown_by_its_url() -> None:
    folder = ObjectUrl("s3", "b", "lake").below(Path("/c/turnetl-objects"))
    assert shown_name(folder / "turns" / "x.parquet") == "s3://b/lake/turns/x.parquet"
    assert shown_name(Path("/x/s3/b")) == "/x/s3/b"
    assert shown_name(Path("/c/turnetl-objects")) == "/c/turnetl-objects"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/a b/ü#?[1]*.jsonl", ObjectUrl("s3", "bucket", "a b/ü#?[1]*.jsonl")),
        ("S3://bucket/logs/", ObjectUrl("s3", "bucket", "logs")),
        ("gs://b", ObjectUrl("gs", "b", "")),
        ("az://container/.hidden/..x", ObjectUrl("az", "container", ".hidden/..x")),
        ("/home/me/x.jsonl", None),
        ("https://host/x.jsonl", None),
    ],
)
def test_a_url_names_an_archive_with_any_name(text: str, expected: ObjectUrl | None) -> None:
    assert archive_url(text) == expected
    if expected is not None:
        path = Path(str(expected))
        assert archive_url(path) == archive_url(str(path)) == expected
        assert url_text(str(path)) == str(expected)


@pytest.mark.parametrize(
    "text", ["s3://key:secret@b/x", "s3://b//x", "s3://b/./x", "s3://b/../x", "s3://b/\n", "s3://"]
)
def test_a_url_that_no_path_can_name_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be `s3://bucket/name` without a user") as refused:
        archive_url(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("path", ["/a/s3:/b", "x.jsonl", "s3", "s3:b", "https:/x", "xs3:/b"])
def test_a_path_of_this_machine_stands_for_no_url(path: str) -> None:
    assert url_text(path) is None

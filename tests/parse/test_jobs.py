"""Archives are parsed in batches that do not depend on the order in which they are given."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from turnetl.parsing.jobs import ArchiveJob, NumberedJob, StoredArchive, batches
from turnetl.parsing.sources import ArchiveStat

BATCH = 16 << 20
SIZES = st.lists(st.sampled_from([0, 10, 2000, 100_000, 1 << 20, 5 << 20, BATCH, BATCH * 2]))


def jobs(sizes: list[int]) -> list[NumberedJob]:
    stats = [ArchiveStat(Path(str(number)), size, 0, ()) for number, size in enumerate(sizes)]
    return [
        (number, ArchiveJob(stat, StoredArchive("digest"))) for number, stat in enumerate(stats)
    ]


@given(SIZES)
def test_every_archive_is_in_one_batch_and_a_batch_is_one_archive_or_small(
    sizes: list[int],
) -> None:
    found = list(batches(jobs(sizes)))
    assert sorted(number for batch in found for number, _ in batch) == list(range(len(sizes)))
    assert all(len(batch) == 1 or sum(job.cost for _, job in batch) <= BATCH for batch in found)


@given(SIZES)
def test_the_largest_archives_come_first_and_copies_follow_each_other_in_order(
    sizes: list[int],
) -> None:
    order = [number for batch in batches(jobs(sizes)) for number, _ in batch]
    assert [sizes[number] for number in order] == sorted(sizes, reverse=True)
    pairs = [pair for pair in pairwise(order) if sizes[pair[0]] == sizes[pair[1]]]
    assert all(first < second for first, second in pairs)

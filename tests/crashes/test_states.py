"""Which states of a command count as one."""

from tests.crashes.merges import PAGE, Completion, overwritten, read_pages

GRAPH = "graph.lbug"


def calls(*lines: str) -> list[list[str]]:
    return [line.split(" ") for line in lines]


def pages(*contents: bytes) -> bytes:
    return b"".join(content * PAGE for content in contents)


def test_a_page_that_a_completion_reads_before_it_writes_it_counts() -> None:
    found = overwritten(
        calls(
            "open /g ",
            "pread /g 0 4096",
            "pwrite /g 0 4096",
            "pwrite /g 4096 8192",
            "pread /g 4096 4096",
            "pread /g.wal 12288 4096",
            "pwrite /g 12288 4096",
            "fdatasync /g ",
        ),
        "/g",
    )
    assert found == {1, 2, 3}


def test_a_page_of_which_only_a_part_is_written_counts() -> None:
    found = overwritten(
        calls(
            "pwrite /g 0 8",
            "pwrite /g 8 4088",
            "pwrite /g 4096 8",
            "pwrite /g 8200 4088",
            "pwrite /g 12288 8",
            "pread /g 12288 8",
            "pwrite /g 12296 4088",
        ),
        "/g",
    )
    assert found == {0}


def test_all_pages_of_a_file_count_that_a_completion_changes_in_another_way() -> None:
    assert overwritten(calls("pwrite /g 0 4096", "ftruncate /g "), "/g") == frozenset()


def test_the_pages_count_that_are_read_before_the_file_is_removed() -> None:
    trace = calls(
        "pread /g 4000 200",
        "pread64 /g 12288 1",
        "pwrite /g 8192 1",
        "pread /h 20480 1",
        "unlink /g ",
        "pread /g 24576 1",
    )
    assert read_pages(trace, "/g") == {0, 1, 3}


def test_states_differ_if_anything_differs_that_their_completion_depends_on() -> None:
    done = Completion(False, True, "", frozenset({1}), {"graph.lbug.shadow": frozenset({0})})
    state = {
        GRAPH: pages(b"a", b"b"),
        "graph.lbug.wal": b"log",
        "graph.lbug.shadow": pages(b"a", b"b"),
    }

    def key(**changed: bytes) -> str:
        return done.depends_on({**state, **changed}, GRAPH)

    assert key(**{GRAPH: pages(b"a", b"c")}) == key()
    assert key(**{GRAPH: pages(b"a")}) == key()
    assert key(**{"graph.lbug.shadow": pages(b"a", b"c", b"d")}) == key()
    different = [
        {GRAPH: pages(b"d", b"b")},
        {GRAPH: pages(b"a", b"b", b"e")},
        {"graph.lbug.wal": b"other log"},
        {"graph.lbug.shadow": b""},
        {"graph.lbug.shadow": pages(b"c", b"b")},
        {"another file": b""},
    ]
    keys = {key(**changed) for changed in different}
    assert len(keys) == len(different)
    assert key() not in keys

"""Tables of leaks and of lookalikes that are cut, with their limits."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from benchmarks.cost import at_most
from benchmarks.redaction import personal
from benchmarks.redaction.canaries import Canary, Leak, all_canaries, leaks
from benchmarks.redaction.held_out.lookalikes import lookalikes as held_out_lookalikes
from benchmarks.redaction.lookalikes import lookalikes
from benchmarks.redaction.stored import leaks_in_lake
from benchmarks.redaction.unseen import HELD_OUT_SETS, held_out_canaries
from turnetl.redact import SecretRedactor

MAX_ANNOUNCED_PERCENT = 0.5
"""Full leaks of passwords and of keys with a name."""
MAX_LOOKALIKES_PERCENT = 2.0
_ANNOUNCED = ("passwords", "keys with a name", "key files and seeds", "payment numbers")
_BY_KIND = "passwords"
_SHOWN_CHARS = 100


def check_canaries(show: int) -> Iterator[bool]:
    """Print all tables of leaks, and `show` syntaxes; yield whether each limit is kept."""
    canaries = [*all_canaries()]
    found = [*leaks(canaries, SecretRedactor())]
    print(f"  {len(canaries)} canaries of {len({canary.kind for canary in canaries})} kinds")
    _print_tables(canaries, found, show)
    for family in _ANNOUNCED:
        yield _check(family, canaries, found, MAX_ANNOUNCED_PERCENT)
    yield _check("tokens", canaries, found, 0)
    for held_out in HELD_OUT_SETS:
        unseen = [*held_out_canaries(held_out)]
        _print_tables(unseen, [*leaks(unseen, SecretRedactor())], 0)


def check_personal(show: int) -> Iterator[bool]:
    """Print the leaks of personal data and the lookalikes that are cut; yield if few are."""
    canaries, redactor = [*personal.personal_canaries()], SecretRedactor(pii=True)
    found = [*leaks(canaries, redactor)]
    _print_tables(canaries, found, show)
    yield _check(personal.FAMILY, canaries, found, MAX_ANNOUNCED_PERCENT)
    yield _few_are_cut(personal.lookalikes(), redactor)


def check_lookalikes() -> bool:
    """Print the lookalikes that are cut, also of those held out; return whether they are few."""
    texts = (lookalikes(), held_out_lookalikes())
    within = [_few_are_cut(of_one_list, SecretRedactor()) for of_one_list in texts]
    return all(within)


def _few_are_cut(texts: Sequence[str], redactor: SecretRedactor) -> bool:
    results = redactor.redact_many([[text] for text in texts])
    cut = [
        (text, *result.texts)
        for text, result in zip(texts, results, strict=True)
        if result.counts[0]
    ]
    for text, clean in cut:
        print(f"    {text[:_SHOWN_CHARS]!r} -> {clean[:_SHOWN_CHARS]!r}")
    name = f"% of {len(texts)} lookalikes cut"
    return at_most(name, 100 * len(cut) / len(texts), MAX_LOOKALIKES_PERCENT)


def check_places() -> bool:
    """Store canaries of every kind in archives of all formats; return whether the lake has none."""
    leaked = leaks_in_lake(all_canaries())
    for archive, (count, total) in leaked.items():
        print(f"    {archive:<20}{total:7} canaries{count:7} in the lake")
    share = sum(count for count, _ in leaked.values()) / sum(total for _, total in leaked.values())
    return at_most("% of the canaries in the lake", 100 * share, MAX_ANNOUNCED_PERCENT)


def _check(family: str, canaries: Sequence[Canary], found: Sequence[Leak], limit: float) -> bool:
    total = sum(canary.family == family for canary in canaries)
    full = sum(leak.is_full and leak.canary.family == family for leak in found)
    return at_most(f"% full leaks: {family}", 100 * full / total, limit)


def _print_tables(canaries: Sequence[Canary], found: Sequence[Leak], show: int) -> None:
    _print_table("family", canaries, found, attrgetter("family"))
    for family in dict.fromkeys(canary.family for canary in canaries):
        inside = [canary for canary in canaries if canary.family == family]
        leaked = [leak for leak in found if leak.canary.family == family]
        _print_table(family, inside, leaked, attrgetter("group"))
        if _BY_KIND in family:
            _print_table(f"{family} by value", inside, leaked, attrgetter("kind"))
    for syntax, same in _by_syntax(found)[:show]:
        kinds = sorted({leak.canary.kind for leak in same})
        print(f"{len(same):4} x {syntax!r}: {', '.join(kinds)}"[: 2 * _SHOWN_CHARS])
        print(f"       {same[0].clean!r}"[: 2 * _SHOWN_CHARS])


def _print_table(
    title: str,
    canaries: Sequence[Canary],
    found: Sequence[Leak],
    row_of: Callable[[Canary], str],
) -> None:
    """Print the leaks by row; rows without a leak are counted in one line."""
    totals = Counter(map(row_of, canaries))
    full = Counter(row_of(leak.canary) for leak in found if leak.is_full)
    partial = Counter(row_of(leak.canary) for leak in found if not leak.is_full)
    print(f"\n{title:<34}{'canaries':>9}{'full':>7}{'share':>8}{'partial':>9}")
    for row, total in totals.items():
        if full[row] or partial[row] or len(totals) < len(canaries) / _MANY_ROWS:
            share = f"{100 * full[row] / total:.1f} %"
            print(f"  {row:<32}{total:9}{full[row]:7}{share:>8}{partial[row]:9}")


_MANY_ROWS = 8
"""Canaries of a row: in a table with fewer, only the rows with a leak are printed."""


def _by_syntax(found: Sequence[Leak]) -> list[tuple[str, list[Leak]]]:
    """Return the leaks of each syntax, the syntax with most leaks first."""

    def syntax(leak: Leak) -> str:
        return leak.canary.syntax

    by_syntax = [(key, [*same]) for key, same in groupby(sorted(found, key=syntax), syntax)]
    return sorted(by_syntax, key=lambda pair: -len(pair[1]))

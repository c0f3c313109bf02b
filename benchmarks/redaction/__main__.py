"""Leaks of canaries, lookalikes that are cut, redactions in real archives, and speed.

Canaries are drawn secrets in every syntax that announces them: `benchmarks.redaction.canaries`.
Prints the leaks by family, by syntax and by type of value, first of the development set, then of
the held-out ones: the rules were changed for the first two, never for the third. A leak is full if
the output holds the whole secret, partial if it holds half of it.

    python -m benchmarks.redaction                        all of these
    python -m benchmarks.redaction --only canaries        or lookalikes, personal, places, archives
    python -m benchmarks.redaction --only pasted [--texts FILE] [--each N] [--seed N]
    python -m benchmarks.redaction --only archives [--pii] [--rounds N] [FOLDER]
    python -m benchmarks.redaction --show 20              also the 20 syntaxes that leak most
    python -m benchmarks.redaction --against CHECKOUT [--rounds N] [FOLDER]    speed of parsing
    python -m benchmarks.redaction --long 50    one text of 50 MB instead, with distinct secrets

Exits with 1 if a limit is exceeded.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.redaction import archives, pasted, report, speed
from tests import real_archives

PARTS = ("canaries", "lookalikes", "personal", "places", "pasted", "archives")


def main(arguments: argparse.Namespace) -> bool:
    if arguments.long:
        archives.long(arguments.long, pii=arguments.pii)
        return True
    if arguments.against:
        return speed.compare(arguments.folder, arguments.against, arguments.rounds)
    parts = [arguments.only] if arguments.only else PARTS
    within = [True]
    if "canaries" in parts:
        within += report.check_canaries(arguments.show)
    if "lookalikes" in parts:
        within.append(report.check_lookalikes())
    if "personal" in parts:
        within += report.check_personal(arguments.show)
    if "places" in parts:
        within.append(report.check_places())
    if "pasted" in parts:
        within += pasted.check(arguments.texts, arguments.each, arguments.seed)
    if "archives" in parts:
        archives.main(arguments.folder, pii=arguments.pii, rounds=arguments.rounds)
    return all(within)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--pii", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument("--texts", type=Path, default=pasted.TEXTS, metavar="FILE")
    parser.add_argument("--each", type=int, default=4, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    parser.add_argument("--long", type=int, metavar="MB")
    sys.exit(not main(parser.parse_args()))

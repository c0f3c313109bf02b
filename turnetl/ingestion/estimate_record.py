"""Estimates kept in the lake, so that a run can be compared with the estimate of its turns.

An estimate is found by its turns: the run of exactly the same turns with the same extractor and
model belongs to it, however it was started; a run of some groups belongs to the sum of their parts.
The files hold amounts, no text and no names. The oldest ones are removed.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from turnetl.base import ids
from turnetl.base.model import TurnId
from turnetl.base.private_files import create_folder, read_whole, write_whole
from turnetl.base.results import described

log = logging.getLogger(__name__)

FOLDER = "estimates"
KEPT = 500
"""Estimates that the lake holds: those that were written last."""


class EstimateMethod(StrEnum):
    """What an estimate is made from."""

    PILOT = "pilot"
    """Turns that were extracted for the estimate."""
    HISTORY = "history"
    """Turns that the same model has extracted for this graph."""
    BOUNDS = "bounds"
    """The prompts that extract the turns, and nothing else: lower bounds."""
    JOURNAL = "journal"
    """The journal answers every request."""
    NO_MODEL = "no_model"
    """No request is sent."""


@dataclass(frozen=True, slots=True)
class Range:
    """An expected amount, and the interval in which the actual one lies in 95 of 100 cases."""

    low: Annotated[float, described("Lower end.")]
    expected: Annotated[float, described("Expected amount; equal to `low` of lower bounds.")]
    high: Annotated[float | None, described("Upper end; null if none is known.")]

    def __mul__(self, factor: float) -> "Range":
        high = None if self.high is None else self.high * factor
        return Range(self.low * factor, self.expected * factor, high)

    def __add__(self, other: "Range") -> "Range":
        """Return the sum of two amounts whose errors go the same way: the ends are added."""
        high = None if self.high is None or other.high is None else self.high + other.high
        return Range(self.low + other.low, self.expected + other.expected, high)

    def __round__(self, digits: int) -> "Range":
        high = None if self.high is None else round(self.high, digits)
        return Range(round(self.low, digits), round(self.expected, digits), high)

    def holds(self, actual: float) -> bool:
        return self.low <= actual and (self.high is None or actual <= self.high)


@dataclass(frozen=True, slots=True)
class RecordedEstimate:
    """What `turnetl plan` predicted of exactly the turns with which the run started."""

    workload: str
    """Digest of its turns, extractor and model."""
    made_at: Annotated[datetime, described("When it was made.")]
    method: Annotated[EstimateMethod, described("What it was made from.")]
    turns: Annotated[int, described("Turns.")]
    requests: Annotated[Range, described("Attempts of requests to send.", digits=0)]
    tokens: Annotated[Range, described("Tokens of prompts and responses.", digits=0)]
    cost: Annotated[
        Range | None, described("US dollars; null if the price of a model is unknown.", digits=6)
    ]
    seconds: Annotated[Range | None, described("Wall time; null if it is unknown.", digits=1)]


EstimateField = Annotated[
    RecordedEstimate | None,
    described("What `turnetl plan` predicted of these turns; null if it did not."),
]


def workload_id(turns: Collection[TurnId], extractor: str, model: str | None) -> str:
    """Return the digest that an estimate and the run of exactly these turns have in common."""
    return ids.digest("workload/1", extractor, model or "", *sorted(turns))


def save(lake: Path, estimate: RecordedEstimate, parts: Sequence[RecordedEstimate] = ()) -> None:
    """Keep an estimate and its parts, those of each group; they replace those of the same turns."""
    for part in parts:
        _write(_of_workload(lake, part.workload), part)
    _write(_of_workload(lake, estimate.workload), estimate)


def assign(
    lake: Path,
    groups: Sequence[Collection[TurnId]],
    run_id: str,
    *,
    extractor: str,
    model: str | None,
) -> RecordedEstimate | None:
    """Return the estimate of the turns that a run starts with, and keep it for that run.

    It is that of exactly these turns; else the sum of those of each group, if all are known.
    """
    turns = [turn for group in groups for turn in group]
    workload = workload_id(turns, extractor, model)
    estimate = _read(_of_workload(lake, workload))
    if estimate is None and len(groups) > 1:
        ids_of_groups = (workload_id(group, extractor, model) for group in groups)
        parts = [_read(_of_workload(lake, part)) for part in ids_of_groups]
        known = [part for part in parts if part is not None]
        estimate = _summed(known, workload) if len(known) == len(parts) else None
    if estimate is not None:
        _write(_of_run(lake, run_id), estimate)
    return estimate


def of_run(lake: Path, run_id: str) -> RecordedEstimate | None:
    return _read(_of_run(lake, run_id))


def _summed(parts: Sequence[RecordedEstimate], workload: str) -> RecordedEstimate | None:
    """Return the estimate of all turns of the parts; None if they were made in different ways."""
    first = parts[0]
    if any(part.method is not first.method for part in parts):
        return None
    return RecordedEstimate(
        workload=workload,
        made_at=min(part.made_at for part in parts),
        method=first.method,
        turns=sum(part.turns for part in parts),
        requests=_sum(part.requests for part in parts) or Range(0, 0, 0),
        tokens=_sum(part.tokens for part in parts) or Range(0, 0, 0),
        cost=_sum(part.cost for part in parts),
        seconds=_sum(part.seconds for part in parts),
    )


def _sum(amounts: Iterable[Range | None]) -> Range | None:
    total = Range(0, 0, 0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _of_workload(lake: Path, workload: str) -> Path:
    return lake / FOLDER / f"{workload}.json"


def _of_run(lake: Path, run_id: str) -> Path:
    return lake / FOLDER / f"run-{run_id}.json"


def _write(path: Path, estimate: RecordedEstimate) -> None:
    """Write the file; a failure is logged, because nothing but the comparison depends on it."""
    try:
        create_folder(path.parent, path.parent.parent)
        write_whole(path, msgspec.json.encode(estimate))
        _remove_oldest(path.parent)
    except OSError as error:
        log.warning("the estimate is not kept: cannot write `%s`: %s", path, error.strerror)


def _remove_oldest(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    if len(files) > KEPT:
        # Another process may remove the same ones.
        written = {path: path.stat().st_mtime_ns for path in files if path.exists()}
        for path in sorted(written, key=lambda path: (written[path], path.name))[:-KEPT]:
            path.unlink(missing_ok=True)


def _read(path: Path) -> RecordedEstimate | None:
    """Return the estimate in a file; None if there is none, or another version wrote it."""
    try:
        return msgspec.json.decode(read_whole(path), type=RecordedEstimate)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        log.info("the estimate `%s` cannot be read", path, exc_info=error)
        return None

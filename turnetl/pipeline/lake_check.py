"""Read everything in a lake whole: its tables, its index, its journal and its small files."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from turnetl import wiring
from turnetl.base import damaged_copies
from turnetl.base.errors import Fatal, IndexBusy, IndexUnusable, JournalUnusable
from turnetl.base.model import GroupId
from turnetl.base.private_files import read_whole
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.base.schema import TURNS
from turnetl.base.text import plural
from turnetl.index.catalog_state import OtherVersion
from turnetl.index.files import DamagedIndex, index_folder
from turnetl.index.integrity import check_index
from turnetl.index.session_index import session_index_folder
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.lake import QUARANTINE, ArchiveMetadata, Lake
from turnetl.lake.forgotten import read_forgotten
from turnetl.lake.paths import TURNS as TURNS_FOLDER
from turnetl.lake.paths import archive_digest
from turnetl.lake.redaction_key import redaction_key
from turnetl.lake.table_checks import (
    TableProblem,
    TableState,
    check_table,
    misplaced_files,
    set_aside,
    special_file,
    table_paths,
)
from turnetl.llm.journal.file import count_damaged
from turnetl.parsing.archive_paths import is_redacted
from turnetl.pipeline.group_status import archive_finder
from turnetl.pipeline.tables import episode_archives, filter_turns, parse_again
from turnetl.settings import Settings
from turnetl.verification.check import Check
from turnetl.verification.verify_report import FileProblem
from turnetl.wiring.clients import JOURNAL

_STAGE = "verify"
_RESTORE = "restore it from a copy of the lake"
_OTHER_KIND = "turnetl makes no such file: move it away"
_RIGHTS = "give yourself the right to read it"


@dataclass(frozen=True, slots=True)
class LakeCheck:
    tables: int = 0
    """Tables that were read completely."""
    table_bytes: int = 0
    problems: tuple[FileProblem, ...] = ()


def check_lake(settings: Settings, progress: Progress) -> LakeCheck:
    """Read everything in the lake, `progress` after each table. The content of no file is changed.

    A damaged turns file gets a new modification time, so that the next run reads it whole too.
    """
    lake = wiring.lake(settings)
    lake.files.check()
    tables = _Tables(settings, lake)
    problems = [
        *tables.problems(progress),
        *_small_files(lake),
        *_journal(settings.lake / JOURNAL),
        *_index(settings),
        *_special_files(settings.lake),
    ]
    return LakeCheck(tables.count, tables.bytes, _each_once(problems))


class _Tables:
    def __init__(self, settings: Settings, lake: Lake) -> None:
        self._settings = settings
        self._lake = lake
        self._metadata: dict[Path, ArchiveMetadata] = {}
        self.count = self.bytes = 0

    def problems(self, progress: Progress) -> Iterator[FileProblem]:
        found = list(self._table_problems(progress))
        whole = {path: of for path, of in self._metadata.items() if not is_redacted(of.archive)}
        known = {problem.path for problem in found}
        found += [one for one in misplaced_files(whole) if one.path not in known]
        turns = [problem for problem in found if problem.path.parent.parent.name == TURNS_FOLDER]
        archives = self._archives(turns) if turns else {}
        is_present = archive_finder(self._settings, set(archives.values()))
        for problem in found:
            name = self._lake.files.name(problem.path)
            if (special := _special_problem(problem, name)) is not None:
                yield special
            elif problem in turns:
                yield self._turns_problem(problem, name, archives.get(problem.path), is_present)
            else:
                yield self._episodes_problem(problem, name)
        yield from self._kept_copies()
        yield from self._missing(is_present)

    def _table_problems(self, progress: Progress) -> Iterator[TableProblem]:
        tables = table_paths(self._lake)
        for done, (group, path, table) in enumerate(tables, start=1):
            self._lake.files.fetch([path])
            problem, metadata = check_table(self._lake, group, path, table)
            if metadata is not None:
                self._metadata[path] = metadata
            if problem is not None:
                if table is TURNS and problem.state is TableState.DAMAGED:
                    self._lake.doubt(path)
                yield problem
            else:
                self.count += 1
                self.bytes += path.stat().st_size
            progress(ProgressUpdate(_STAGE, "tables", done, len(tables)))

    def _archives(self, problems: Sequence[TableProblem]) -> Mapping[Path, str]:
        """Return the archives whose turns files have these places, as far as something tells."""
        by_name = {
            archive_digest(Path(archive)): archive
            for archive in self._known_archives(problems)
            if not is_redacted(archive)
        }
        archives = {}
        for problem in problems:
            own = problem.metadata
            if problem.state is TableState.DAMAGED and own is not None:
                archives[problem.path] = own.archive
            elif problem.path.stem in by_name:
                archives[problem.path] = by_name[problem.path.stem]
        return archives

    def _known_archives(self, problems: Sequence[TableProblem]) -> set[str]:
        """Return the archives that turns files and the episodes of their groups name."""
        known = {metadata.archive for metadata in self._metadata.values()}
        for group in sorted({GroupId(problem.path.parent.name) for problem in problems}):
            known |= episode_archives(self._lake, group)
        return known

    def _turns_problem(
        self,
        found: TableProblem,
        name: str,
        archive: str | None,
        is_present: Callable[[str], bool],
    ) -> FileProblem:
        if archive is None:
            remedy = f"its archive is not known: {_RESTORE}, or backfill the archive"
        elif is_present(archive):
            remedy = f"{_made_again(archive)}{self._retained(found)}"
        else:
            committed = "turns that were committed stay in the graph"
            remedy = f"{_restored(archive)}, or the archive; {committed}"
        return FileProblem(
            Check.DAMAGED_TURNS,
            found.path,
            name,
            found.problem,
            remedy,
            is_kept=True,
            archive=archive if archive is not None and is_present(archive) else None,
        )

    def _retained(self, found: TableProblem) -> str:
        count = found.metadata.retained_turns if found.metadata is not None else 0
        turns = plural(count, "turn")
        return f", without {turns} that it no longer holds: {_RESTORE}" if count else ""

    def _episodes_problem(self, found: TableProblem, name: str) -> FileProblem:
        group = found.path.stem
        has_turns = bool(self._lake.turn_paths(GroupId(group)))
        remedy = "" if has_turns else f"there are no turns of group `{group}`: move it away"
        return FileProblem(
            Check.DAMAGED_EPISODES, found.path, name, found.problem, remedy, is_kept=True
        )

    def _missing(self, is_present: Callable[[str], bool]) -> Iterator[FileProblem]:
        """Yield the turns files that are gone since the episodes were made from them."""
        names = {path.stem for path in self._lake.turn_paths()}
        folder = self._lake.root / TURNS_FOLDER
        for group in self._lake.groups():
            for archive in sorted(episode_archives(self._lake, group)):
                name = archive_digest(Path(archive))
                if name in names or is_redacted(archive) or not Path(archive).is_absolute():
                    continue
                path = folder / group / f"{name}.parquet"
                remedy = _made_again(archive) if is_present(archive) else _restored(archive)
                shown = self._lake.files.name(path)
                yield FileProblem(
                    Check.DAMAGED_TURNS, path, shown, "is missing", remedy, archive=archive
                )

    def _kept_copies(self) -> Iterator[FileProblem]:
        folder = self._lake.root / TURNS_FOLDER
        for group, names in self._lake.files.tree(folder).items():
            for name in filter(damaged_copies.is_copy, names):
                path = folder / group / name
                yield FileProblem(
                    Check.KEPT_COPIES, path, self._lake.files.name(path), "was damaged"
                )


def _made_again(archive: str) -> str:
    return f"its archive `{archive}` exists: the next `turnetl backfill` of it makes it again"


def _restored(archive: str) -> str:
    return f"its archive `{archive}` is gone: {_RESTORE}"


def _special_problem(found: TableProblem, name: str) -> FileProblem | None:
    """Return the problem of a table that no run may replace."""
    match found.state:
        case TableState.NEWER:
            return FileProblem(Check.NEWER_FILES, found.path, name, found.problem)
        case TableState.NO_FILE:
            return FileProblem(Check.DAMAGED_FILES, found.path, name, found.problem, _OTHER_KIND)
        case TableState.UNREADABLE:
            return FileProblem(Check.DAMAGED_FILES, found.path, name, found.problem, _RIGHTS)
        case _:
            return None


def _small_files(lake: Lake) -> Iterator[FileProblem]:
    """Check the key, the list of forgotten turns and the quarantine."""
    for check in (
        lambda: redaction_key(lake, create=False),
        lambda: read_forgotten(lake.files),
    ):
        try:
            check()
        except Fatal as error:
            yield FileProblem(Check.DAMAGED_FILES, lake.root, str(lake.root), f"holds: {error}")
    folder = lake.root / QUARANTINE
    for group, names in lake.files.tree(folder).items():
        for name in names:
            path = folder / group / name
            lake.files.fetch([path])
            if name.endswith(".json") and (problem := _quarantine_problem(path)) is not None:
                remedy = "its turn is attempted again, and is paid for if it fails again"
                shown = lake.files.name(path)
                yield FileProblem(Check.DAMAGED_FILES, path, shown, problem, remedy, is_kept=True)


def _quarantine_problem(path: Path) -> str | None:
    if (special := special_file(path)) is not None:
        return special
    try:
        entry = msgspec.json.decode(read_whole(path), type=QuarantineEntry)
    except (OSError, msgspec.DecodeError):
        return "is damaged"
    return None if entry.turn_id == path.stem else f"is the entry of turn `{entry.turn_id}`"


def _journal(path: Path) -> Iterator[FileProblem]:
    if not os.path.lexists(path):
        return
    special = special_file(path)
    if special is not None:
        yield FileProblem(Check.DAMAGED_FILES, path, str(path), special, _OTHER_KIND)
        return
    if not path.stat().st_size:
        yield FileProblem(Check.DAMAGED_JOURNAL, path, str(path), "is empty")
        return
    try:
        responses, damaged = count_damaged(path)
    except JournalUnusable as error:
        yield FileProblem(Check.DAMAGED_JOURNAL, path, str(path), f"cannot be used: {error}")
        return
    if damaged:
        of_these = plural(damaged, "is", "are")
        problem = f"holds {plural(responses, 'response')}, of which {of_these} damaged"
        yield FileProblem(Check.DAMAGED_JOURNAL, path, str(path), problem)


def _index(settings: Settings) -> Iterator[FileProblem]:
    folder = index_folder(settings.lake, settings.graph_url)
    for part in (folder, session_index_folder(folder)):
        try:
            check_index(part)
        except IndexBusy:
            continue  # The comparison with the graph says so.
        except OtherVersion as error:
            check = Check.NEWER_FILES if error.is_newer else Check.DAMAGED_INDEX
            yield FileProblem(check, part, str(part), f"cannot be used: {error}")
        except DamagedIndex as error:
            yield FileProblem(Check.DAMAGED_INDEX, part, str(part), f"is damaged ({error.reason})")
        except IndexUnusable as error:
            yield FileProblem(Check.DAMAGED_INDEX, part, str(part), f"cannot be used: {error}")


def _special_files(lake: Path) -> Iterator[FileProblem]:
    """Yield what is neither a file nor a folder nor a link: opening it could block."""
    for parent, folders, names in os.walk(lake):
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            special = special_file(path) if path.exists() else None
            if special is not None and not path.is_dir():
                remedy = _RIGHTS if path.is_file() else _OTHER_KIND
                yield FileProblem(Check.DAMAGED_FILES, path, str(path), special, remedy)


def _each_once(problems: Sequence[FileProblem]) -> tuple[FileProblem, ...]:
    by_key = {(one.path, one.problem): one for one in reversed(problems)}
    return tuple(by_key[key] for key in sorted(by_key))


def mend_lake(settings: Settings, problems: Sequence[FileProblem], progress: Progress) -> int:
    """Give what is damaged another name, and make it again from what exists; return the number."""
    lake, kept = wiring.lake(settings), 0
    for problem in problems:
        if problem.is_kept and problem.path.is_file():
            _keep(lake, problem.path)
            kept += 1
    archives = sorted({one.archive for one in problems if one.archive is not None})
    if archives:
        parse_again(archives, lake, settings)
    episodes = [one for one in problems if one.check is Check.DAMAGED_EPISODES and one.is_kept]
    groups = sorted({one.path.stem for one in episodes} & set(lake.groups()))
    if groups:
        filter_turns(settings, groups, progress=progress, on_damaged=lambda _: None)
    return kept


def _keep(lake: Lake, path: Path) -> None:
    try:
        set_aside(lake.files, path)
    except OSError as error:
        raise Fatal(
            f"`{lake.files.name(path)}` cannot be renamed ({error.strerror}); make its folder "
            "writable, then repeat the command"
        ) from error

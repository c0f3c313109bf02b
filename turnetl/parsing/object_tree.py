"""The objects of a bucket that are known, as files in folders."""

from collections.abc import Mapping, Sequence

from turnetl.lake.object_store import ObjectState


class ObjectTree:
    """The states of objects by name, and the names in each folder that was listed."""

    def __init__(self) -> None:
        self._states: dict[str, ObjectState | None] = {}
        """None: there is no such object."""
        self._names: dict[str, set[str]] = {}
        self._listed: set[str] = set()

    def add_listing(self, folder: str, states: Mapping[str, ObjectState]) -> None:
        """Add all objects below a folder; the folder of all objects has no name."""
        self._listed.add(folder)
        self._states |= states
        for name in states:
            for below in _and_above(name)[1:]:
                parent, _, entry = below.rpartition("/")
                self._names.setdefault(parent, set()).add(entry)

    def add(self, name: str, state: ObjectState | None) -> None:
        """Add an object, or that there is none."""
        self._states[name] = state

    def is_listed(self, folder: str) -> bool:
        """Return whether all objects below a folder are known."""
        return any(above in self._listed for above in _and_above(folder))

    def is_known(self, name: str) -> bool:
        """Return whether it is known if there is an object with a name."""
        return name in self._states or self.is_listed(name.rpartition("/")[0])

    def state(self, name: str) -> ObjectState | None:
        """Return the state of an object; None if there is none, or it is not known."""
        return self._states.get(name)

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder that was listed, sorted."""
        return sorted(self._names.get(folder, ()))

    def below(self, folder: str) -> Sequence[str]:
        """Return the objects below a folder that was listed, sorted."""
        prefix = f"{folder}/" if folder else ""
        return sorted(
            name
            for name, state in self._states.items()
            if state is not None and name.startswith(prefix)
        )


def _and_above(folder: str) -> Sequence[str]:
    """Return the folder of all objects, and each one on the way to a folder, with itself."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:number]) for number in range(len(parts) + 1)]

"""Names of machines that belong to nobody: services, containers, placeholders."""

_NAMES = """
    localhost localhost.localdomain host hostname docker container ubuntu debian fedora alpine kali
    codespaces sandbox machine server laptop computer desktop test example runner vm cluster svc
    service kubernetes minikube kind github gitlab bitbucket api app web db redis postgres mysql box
    remote target node master worker default your-host myhost my-host yourhost none null name
    macbook macbook-pro macbook-air imac mac-mini archlinux raspberrypi linux macos windows
"""
_SHARED = frozenset(_NAMES.split())
_HEX = frozenset("0123456789abcdef")
_CONTAINER_CHARS = 12
"""Characters of the id of a container, which is the name of its machine."""


def is_personal_host(value: str) -> bool:
    """Return whether the name can be that of a person's machine."""
    name = value.lower().rstrip(".")
    label = name.partition(".")[0]
    is_container = len(label) >= _CONTAINER_CHARS and _HEX.issuperset(label)
    is_service = name.endswith((".cluster.local", ".svc.local", ".internal"))
    is_number = label.replace("-", "").isdigit()
    return not (is_container or is_service or is_number or {name, label} & _SHARED)

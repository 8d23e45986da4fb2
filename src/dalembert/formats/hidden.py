"""Physics inside sections that belong to other programs: found by the words they use."""

from __future__ import annotations

from typing import TypeAlias

from lxml import etree

from .xml import children, tag_of

Element: TypeAlias = etree._Element

# Parts of words that name forces or masses.
FORCES = (
    "mass", "inertia", "damp", "friction", "stiff", "spring", "gravity", "armature", "rotor", "bushing", "thrust",
    "buoy",
)  # fmt: skip
# Sections without dynamics of the robot: contact, sensors, looks.
IDLE = {"collision", "surface", "contact", "visual", "material", "sensor", "camera", "geometry"}
OFF = {"", "0", "false"}


def hidden_physics(element: Element) -> list[str]:
    """Tags and attributes inside an element that name forces or masses and have a value: in order, each once."""
    words: list[str] = []
    for child in children(element):
        if tag_of(child) not in IDLE:
            if not len(child) and _acts(tag_of(child), child.text):
                words.append(tag_of(child))
            words += hidden_physics(child)
    for key, value in element.attrib.items():
        name = str(key).rpartition("}")[2]
        if _acts(name, str(value)):
            words.append(name)
    stated = any(not _is_zero(str(value)) for value in element.attrib.values())
    if stated and not len(element) and _names_force(tag_of(element)):
        words.append(tag_of(element))
    return list(dict.fromkeys(words))


def _acts(name: str, text: str | None) -> bool:
    """Whether a word names a force or mass, and its value means one: gravity acts unless it is switched off."""
    if not _names_force(name):
        return False
    value = (text or "").strip().lower()
    if name.lower() == "gravity" and value in ("1", "true"):
        return False
    if name.lower() == "gravity" and value in ("0", "false"):
        return True
    return not _is_zero(value)


def _names_force(name: str) -> bool:
    return any(force in name.lower() for force in FORCES)


def _is_zero(text: str) -> bool:
    value = text.strip().lower()
    try:
        return all(float(part) == 0.0 for part in value.split())
    except ValueError:
        return value in OFF

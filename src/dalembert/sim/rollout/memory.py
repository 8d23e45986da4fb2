"""The memory of a rollout: what its elements, contacts and controllers keep, from which a later one goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.compiler.interop import is_foreign
from dalembert.contact.scene import Scene, scene_of
from dalembert.errors import DalembertError
from dalembert.typing import Array

from ..elements.contact import MEMORY_COUNTS
from .stepping import Stepping


def remembered(steps: Stepping, v: Any, memory: Any) -> Any:
    """The memory (…, n) of a rollout before, checked; also of one that had less room for contacts."""
    expected = f"expected (…, {steps.kept}), `memory` of a rollout with the same elements, contact and controllers"
    if not is_foreign(memory):
        memory = real_array("rollout: memory", memory, expected)
        if isinstance(v, np.ndarray):
            memory = memory.astype(v.dtype, copy=False)
        if memory.ndim and memory.shape[-1] != steps.kept and steps.system.contact is not None:
            memory = _refitted(steps, memory)
    if not memory.ndim or memory.shape[-1] != steps.kept:
        raise DalembertError(f"rollout: memory has shape {tuple(memory.shape)}, {expected}")
    return memory


def _refitted(steps: Stepping, memory: Array) -> Array:
    """A memory (…, n) of a scene that had less room for contacts, with empty slots for more; any other as it is."""
    system, contact = steps.system, steps.system.contact
    assert contact is not None
    size, growth, room = contact.size(system.model), contact.growth, _rooms(contact.scene(system.model))
    begin = sum(system.layout.element_sizes[: system.contact_number])
    while growth > 1 and contact.scene_room:
        growth //= 2
        scene = scene_of(system.model, contact.patches, growth)
        before = replace(contact, growth=growth, scene_room=scene.room)
        end = begin + before.size(system.model)
        if memory.shape[-1] != steps.kept - size + end - begin:
            continue
        parts = before.memory(memory[..., begin:end])
        arrays, sizes = parts[:-MEMORY_COUNTS], contact.memory_sizes
        wider = [_widened(x, scene.room, _rooms(scene), room, n) for x, n in zip(arrays, sizes, strict=True)]
        counts = [np.asarray(x)[..., None] for x in parts[-MEMORY_COUNTS:]]
        return np.concatenate([memory[..., :begin], *wider, *counts, memory[..., end:]], -1)
    return memory


def _rooms(scene: Scene) -> list[int]:
    """Room of each part of a scene that is solved for by itself."""
    return [part.room for part in scene.parts] if scene.looped else [scene.room]


def _widened(x: Array, slots: int, before: list[int], after: list[int], size: int) -> Array:
    """An array (…, slots · n) of contacts with zeros in the slots that are new; other arrays as they are."""
    if x.shape[-1] == size:
        return x
    x = x.reshape(*x.shape[:-1], slots, -1)
    parts = np.split(x, np.cumsum(before)[:-1], axis=-2)
    none = [(0, 0)] * (x.ndim - 2)
    filled = [
        np.pad(part, [*none, (0, new - old), (0, 0)]) for part, old, new in zip(parts, before, after, strict=True)
    ]
    joined = np.concatenate(filled, axis=-2)
    return joined.reshape(*joined.shape[:-2], -1)

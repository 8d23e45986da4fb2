"""The twelve steps from a drawing to a controlled robot, each of which the audit judges."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One step of the checklist: its number, its title, and its question."""

    number: int
    title: str
    question: str


_STEPS = {
    "authoring": ("Authoring", "are joints, axes, limits and names what the drawing means?"),
    "inertia": ("Inertia", "do masses and inertias fit the shapes, and each other?"),
    "intent": ("Sizes and names", "are base, coordinates, names, masses and reach those of the design?"),
    "gravity": ("Gravity", "are gravity torques those of a calculation by hand, and can the motors hold them?"),
    "mass-matrix": ("Mass matrix", "is M symmetric, positive definite and well conditioned?"),
    "passivity": ("Passivity", "is Ṁ − 2C skew, and is energy kept?"),
    "identification": ("Identification", "can parameters be identified from the log?"),
    "friction": ("Friction", "is there a friction model, of plausible size?"),
    "integrator": ("Integrator and step", "is the simulation's step small enough?"),
    "contact": ("Contact", "are friction and stiffness plausible, and do runs keep the laws of contact?"),
    "controller": ("Controller", "is the bandwidth below the resonance, and damped?"),
    "log": ("Log against model", "does the model explain the torques that were measured?"),
}
STEPS: dict[str, Step] = {name: Step(k + 1, *texts) for k, (name, texts) in enumerate(_STEPS.items())}

"""From a symptom to its causes: ranked by findings of the rules, and by the shape of a log's residual."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .classes import words
from .expectations import Expectations
from .logs import MeasuredMotion
from .result import AuditFinding
from .run import run_audit
from .symptoms import SYMPTOMS, Cause, Symptom
from .verdicts import PASSED, verdicts

WEIGHT = {"error": 3.0, "warning": 2.0, "info": 0.5}
CONSEQUENCES = ("headroom",)  # rules that other faults break too
EXPLAINED = 0.2  # share of a residual that a term must explain to be named
TELLING = 4.0  # weight of a term that explains all of a residual
STEM = 5  # letters in which two words agree
COMMON = {"the", "and", "too", "off", "with", "for", "not", "has", "its", "after", "when", "does", "robot", "joint"}


class Suspect(NamedTuple):
    """A cause, its evidence, and the weight of that; `weight` is 0 where only experience supports it."""

    cause: Cause
    findings: tuple[AuditFinding, ...]
    explained: float  # share of the log's residual that the cause's term of the dynamics explains
    weight: float

    def __str__(self) -> str:
        evidence = [f"{f.where}: {f.what} [{f.rule}]" for f in self.findings[:3]]
        if self.explained > EXPLAINED:
            evidence.append(
                f"the {self.cause.term} term explains {100 * self.explained:.0f} % of what the model misses"
            )
        listed = "".join(f"\n      found: {text}" for text in evidence)
        return f"{self.cause.text}{listed}\n      check: {self.cause.check}\n      cure: {self.cause.fix}"


class Diagnosis(NamedTuple):
    """The symptom as in the table, and its causes, the likeliest first; notes: what could not be checked."""

    symptom: str
    suspects: tuple[Suspect, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.symptom, *(f"  {k + 1}. {suspect}" for k, suspect in enumerate(self.suspects))]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.symptom!r}: {len(self.suspects)} causes>"


def diagnose(
    symptom: str | None = None,
    robot: Robot | None = None,
    *,
    motion: MeasuredMotion | None = None,
    expect: Expectations | str | os.PathLike[str] | None = None,
    payload: float = 0.0,
    frame: str | None = None,
) -> list[Diagnosis]:
    """The causes of a symptom in words, ranked by the findings of the rules in the robot and its log.

    Without a symptom: those that the findings and the log would cause, likeliest first. Without a robot: the causes in
    the order in which they are usual.
    """
    if symptom is None and robot is None:
        raise DalembertError("diagnose: give a symptom in words, a robot, or both")
    if motion is not None and robot is None:
        raise DalembertError("diagnose: a log needs the robot it belongs to")
    chosen = SYMPTOMS if symptom is None else matching(symptom)
    findings: Sequence[AuditFinding] = ()
    shares: Mapping[str, float] = {}
    notes: list[str] = []
    if robot is not None:
        rules = None if symptom is None else {rule for s in chosen for cause in s.causes for rule in cause.rules}
        audit = run_audit(robot, payload=payload, frame=frame, rules=rules, expect=expect, motion=motion)
        findings = audit.findings
        notes += [f"{item.rule} did not run: {item.because}" for item in audit.blocked]
        if motion is not None and robot.model.closures:
            notes.append("of a robot with loops the log is compared by log-torque alone, not term by term")
        elif (
            motion is not None
            and motion.tau is not None
            and all(np.isfinite(x).all() for x in (motion.q, motion.v, motion.a))
        ):
            missed, shares = residual_terms(robot, motion)
            judged = verdicts(
                robot.model.freedom_names, motion.tau, robot.inverse_dynamics(motion.q, motion.v, motion.a)
            )
            open_ones = [f"{v.joint} ({v.status}, {100 * v.share:.3g} %)" for v in judged if v.status != PASSED]
            share = (
                f"{100 * missed:.3g} % of the measured efforts"
                if np.nan_to_num(motion.tau).any()
                else "all: the log's efforts are 0"
            )
            notes.append(f"the model misses {share}")
            if open_ones:
                notes.append(f"joints that it does not explain: {', '.join(open_ones)}")
            else:
                notes.append("every joint is within 5 % or its noise: the log agrees with the model")
                shares = {}
    diagnoses = [Diagnosis(s.text, _suspects(s, findings, shares), tuple(notes)) for s in chosen]
    if symptom is None:
        diagnoses = [d for d in diagnoses if d.suspects[0].weight >= 1.0]
        diagnoses.sort(key=lambda d: -d.suspects[0].weight)
    return diagnoses


def _suspects(symptom: Symptom, findings: Sequence[AuditFinding], shares: Mapping[str, float]) -> tuple[Suspect, ...]:
    suspects = []
    for cause in symptom.causes:
        matches = tuple(f for f in findings if f.rule in cause.rules and not f.accepted)
        explained = float(shares.get(cause.term, 0.0))
        evidence = max((WEIGHT["warning" if f.rule in CONSEQUENCES else f.severity] for f in matches), default=0.0)
        weight = evidence + (TELLING * explained if explained > EXPLAINED else 0.0)
        suspects.append(Suspect(cause, matches, explained, weight))
    return tuple(sorted(suspects, key=lambda suspect: -suspect.weight))


def matching(text: str) -> list[Symptom]:
    """The symptoms that share most words with a text; an error that lists all of them when none does."""
    vocabulary = {word for word in words(text.lower()) if len(word) > 2 and word not in COMMON}
    scores = [_overlap(vocabulary, symptom) for symptom in SYMPTOMS]
    best = max(scores)
    if best <= 0.0:
        listed = "; ".join(symptom.text for symptom in SYMPTOMS)
        raise DalembertError(f"diagnose: no symptom sounds like {text!r}; the symptoms are: {listed}")
    return [symptom for score, symptom in zip(scores, SYMPTOMS, strict=True) if score == best]


def _overlap(query: set[str], symptom: Symptom) -> float:
    """Words in common; those of the symptom's text count twice."""
    in_text, others = set(words(symptom.text.lower())), set(symptom.words.split())

    def among(word: str, vocabulary: set[str]) -> bool:
        return any(word[:STEM] == other[:STEM] and min(len(word), len(other)) > 2 for other in vocabulary)

    return float(sum(2.0 if among(word, in_text) else 1.0 if among(word, others) else 0.0 for word in query))


def residual_terms(robot: Robot, motion: MeasuredMotion) -> tuple[float, dict[str, float]]:
    """How much of the measured efforts the model misses, and the share of that which each term alone explains.

    Efforts that are NaN are left out.

    Terms, fitted joint by joint with one factor each (friction: two): "gravity" g(q), "inertia" M a, "coriolis" C v,
    "rotor" a, "friction" v and sgn v, "sign" of the whole torque.
    """
    assert motion.tau is not None
    if robot.model.closures:
        raise DalembertError(f"diagnose: robot {robot.name!r} has loops, whose forces no term of the tree explains")
    q, v, a, tau = motion.q, motion.v, motion.a, motion.tau
    modelled = robot.inverse_dynamics(q, v, a)
    still = np.zeros_like(v)
    gravity = robot.gravity(q)
    terms = {
        "gravity": [gravity],
        "inertia": [robot.inverse_dynamics(q, still, a) - gravity],
        "coriolis": [robot.without("friction", "damping").bias(q, v) - gravity],
        "rotor": [a],
        "friction": [v, np.sign(v)],
        "sign": [modelled],
    }
    residual = tau - modelled
    size, total = np.sqrt(np.nansum(tau**2)), float(np.nansum(residual**2))
    shares = {}
    for name, columns in terms.items():
        left = 0.0
        for k, column in enumerate(residual.T):
            known = np.isfinite(column)
            Y = np.stack([term[known, k] for term in columns], axis=1)
            left += float(np.sum((column[known] - Y @ np.linalg.lstsq(Y, column[known], rcond=1e-9)[0]) ** 2))
        shares[name] = 1.0 - left / total if total else 0.0
    against = np.nansum((tau + modelled) ** 2, axis=0)
    if not np.any(
        against < 0.25 * np.nansum(residual**2, axis=0)
    ):  # of no joint it is the negative of the modelled one
        shares["sign"] = 0.0
    return float(np.sqrt(total) / size) if size else 0.0, shares

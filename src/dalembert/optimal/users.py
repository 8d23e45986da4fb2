"""Identity of a problem's programs without a trace of them: the package's part, and each user's function alone.

Tracing a step of a humanoid takes longer than all else that a second process does, and only users' functions make it
necessary: their names do not tell what they compute. Each is traced alone, and its answers within the first full trace
are compared with that, so that a function which inspects its arguments is found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import code, content
from dalembert.compiler.execute.alone import Alone
from dalembert.compiler.execute.sources import own_code, room_of

from .terms import UserFunction

if TYPE_CHECKING:
    from .problem import Problem

Size = int | Mapping[str, int]


class Users:
    """The user's functions of a problem."""

    def __init__(self, problem: Problem, functions: Sequence[UserFunction]) -> None:
        self.problem, self.functions = problem, functions

    @cached_property
    def known(self) -> str | None:
        """Text that determines the programs of nodes and end; None where some code cannot be seen through."""
        problem, motion = self.problem, self.problem.motion
        users = code(*(each.function for each in self.functions))
        if users is None or motion.actuation is not None or any(each.takes_all for each in self.functions):
            return None
        touching = None if motion.contacts is None else (tuple(motion.contacts.rows.items()), motion.contacts.decay)
        own = content(
            problem.robot.model,
            (motion.step, motion.integrator, motion.by_acceleration, motion.driven, motion.controls),
            (motion.constants, motion.has_free_steps, motion.ground, touching),
            (tuple(problem.constants.unknowns.items()), problem.constants.with_start),
            (tuple(problem.parameters.items()), problem.exact, problem.bends),
            tuple(problem.ranges.items()),
        )
        if own is None:
            return None
        return " ".join(
            ["optimal", own_code(room_of(__name__)), own, users, *(self._alone(each) for each in self.functions)]
        )

    @property
    def agree(self) -> bool:
        """Whether all functions answered in all traces as alone."""
        return all(each.alone is not None and each.alone.agrees for each in self.functions)

    def _alone(self, function: UserFunction) -> str:
        sizes, words = self._sizes(), []

        def compute(*vectors: np.ndarray) -> np.ndarray:
            given, left = {}, list(vectors)
            for name in function.names:
                size = sizes[name]
                given[name] = {frame: left.pop(0) for frame in size} if isinstance(size, Mapping) else left.pop(0)
            structure, numbers = function.structure(given)
            words.append(structure)
            return numbers

        flat: dict[str, int] = {}
        for name in function.names:
            size = sizes[name]
            flat |= {f"{name} {f}": n for f, n in size.items()} if isinstance(size, Mapping) else {name: size}
        function.alone = Alone(function.role, flat, compute)
        return f"{function.role} {words} {function.alone.fingerprint}"

    def _sizes(self) -> dict[str, Any]:
        problem, model = self.problem, self.problem.robot.model
        sizes: dict[str, Size] = {"q": model.nq, "v": model.nv, "u": problem.motion.controls}
        sizes |= {"start_q": model.nq, "start_v": model.nv}
        if problem.motion.contacts is not None:
            sizes["force"] = dict(problem.motion.contacts.rows)
        return sizes | dict(problem.parameters)

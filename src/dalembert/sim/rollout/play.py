"""Prepared rollouts: options stated once, then q, v and what else differs from call to call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.compiler.interop import is_foreign
from dalembert.errors import DalembertError
from dalembert.model import Model

from ..settings import Settings
from ..system.sampled import Sampled
from .ready import FLOATS, Ready, given, make_ready
from .result import Rollout
from .rollout import rollout, whole


class PreparedRollout:
    """Plays motions with options that do not change: `result = play(q, v, torque)`; see `Robot.prepare_rollout`.

    A law counts as it was when `play` was made ready for arrays of these shapes: what it reads from elsewhere and that
    changes later must be an argument, given by name. Threads take turns.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        settings.method("prepare_rollout", model)
        settings.check_rollout()
        self.model, self.settings = model, settings
        law = settings.torque if settings.controls is None else settings.controls
        self.law = callable(law) or isinstance(law, Sampled)
        if law is not None and law is not True and not self.law:
            raise DalembertError(
                "prepare_rollout: torque and controls are laws (t, q, v) → tau here, or controls=True: arrays go to "
                "the call, play(q, v, torque)"
            )
        self._ready: dict[Any, Ready | None] = {}

    def __call__(
        self,
        q: Any,
        v: Any,
        torque: Any = None,
        *,
        memory: Any = None,
        threads: int | None = None,
        check: bool = True,
        **parameters: Any,
    ) -> Rollout:
        """The motions from q (…, nq), v (…, nv), as `Robot.rollout` gives them.

        torque (…, nv), or a row per step (…, steps, nv); with controls=True of the actuators (…, nu). memory: of a
        rollout before. Others by name: live groups, or arguments of the law, as `parameters` of `rollout`.
        """
        arrays = {"q": q, "v": v, **parameters}
        if torque is not None:
            arrays[self._word(torque)] = torque
        key = self._key(arrays, check)
        ready = self._ready.get(key)
        if ready is not None and (result := ready(arrays, memory, check)) is not None:
            return result
        settings = self._settings(torque, memory, parameters)
        if key is None or any(map(is_foreign, arrays.values())):
            return rollout(self.model, q, v, settings, threads, check)
        result, plan = whole(self.model, q, v, settings, threads, check)
        if key not in self._ready:
            self._ready[key] = make_ready(plan, settings, given(settings, q, v))
        return result

    def _word(self, torque: Any) -> str:
        if self.law:
            raise DalembertError("play: got torques, and a law drives the robot: prepare the rollout without it")
        return "controls" if self.settings.controls else "torque"

    def _settings(self, torque: Any, memory: Any, parameters: dict[str, Any]) -> Settings:
        driving: dict[str, Any] = {} if self.law else {"torque": None, "controls": None}
        if torque is not None:
            driving[self._word(torque)] = torque
        elif self.settings.controls is True:
            raise DalembertError("play: prepared with controls=True, expected play(q, v, controls)")
        return replace(self.settings, memory=memory, parameters=parameters, **driving)

    @staticmethod
    def _key(arrays: dict[str, Any], check: bool) -> Any:
        shapes: list[Any] = [check]
        for name, x in arrays.items():
            if type(x) is not np.ndarray or x.dtype not in FLOATS or not x.ndim:
                return None
            shapes += (name, x.shape, x.dtype)
        return tuple(shapes)

    def __repr__(self) -> str:
        return (
            f"<PreparedRollout of robot {self.model.name!r}: {self.settings.steps} steps of {self.settings.length:g} s>"
        )

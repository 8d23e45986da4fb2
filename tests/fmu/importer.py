"""FMUs run by fmpy, step by step, with all outputs as columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def names_of(robot: Any) -> list[str]:
    """Outputs of all coordinates and freedoms."""
    model = robot.model
    return [*(f"q.{name}" for name in model.coordinate_names), *(f"v.{name}" for name in model.freedom_names)]


def signal(names: list[str], rows: np.ndarray, step: float) -> np.ndarray:
    """Inputs that hold each row for a step; the last row once more, for the last instant."""
    rows = np.vstack([rows, rows[-1:]])
    columns = [(name, float) for name in ("time", *names)]
    return np.array([(k * step, *row) for k, row in enumerate(rows)], dtype=columns)


def co_simulated(path: str | Path, robot: Any, steps: int, step: float = 1e-3, **options: Any) -> np.ndarray:
    """q and v (steps, nq + nv) after each step."""
    import fmpy

    result = fmpy.simulate_fmu(
        str(path), stop_time=steps * step, step_size=step, output_interval=step, fmi_type="CoSimulation",
        output=names_of(robot), **options,
    )  # fmt: skip
    return np.array([list(row)[1:] for row in result])[1:]


class Instance:
    """One instance of an FMU, loaded by fmpy, after its initialization; start: values that are set before."""

    def __init__(self, path: str | Path, folder: Path, model_exchange: bool = False, start: Any = None) -> None:
        import fmpy
        from fmpy import fmi2, fmi3

        self.description = fmpy.read_model_description(str(path))
        fmpy.extract(str(path), unzipdir=str(folder))
        self.is_old = self.description.fmiVersion == "2.0"
        if self.is_old:
            kind = fmi2.FMU2Model if model_exchange else fmi2.FMU2Slave
        else:
            kind = fmi3.FMU3Model if model_exchange else fmi3.FMU3Slave
        stated = self.description.modelExchange if model_exchange else self.description.coSimulation
        token = self.description.guid if self.is_old else self.description.instantiationToken
        self.fmu = kind(guid=token, unzipDirectory=str(folder), modelIdentifier=stated.modelIdentifier)
        self.references = {x.name: x.valueReference for x in self.description.modelVariables}
        self.fmu.instantiate()
        if self.is_old:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(start or {})
        self.fmu.exitInitializationMode()

    def get(self, *names: str) -> np.ndarray:
        """Values of variables."""
        listed = [self.references[name] for name in names]
        return np.array(self.fmu.getReal(listed) if self.is_old else self.fmu.getFloat64(listed))

    def set(self, values: dict[str, float]) -> None:
        """Set variables."""
        listed = [self.references[name] for name in values]
        (self.fmu.setReal if self.is_old else self.fmu.setFloat64)(listed, list(values.values()))

    def slopes(self, unknowns: list[str], knowns: list[str], seed: list[float]) -> np.ndarray:
        """Derivatives of unknowns along a seed of knowns."""
        listed = [[self.references[name] for name in names] for names in (unknowns, knowns)]
        return np.array(self.fmu.getDirectionalDerivative(*listed, seed))

    def step(self, time: float, size: float) -> None:
        """One communication step."""
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=size)

    def close(self) -> None:
        """End it."""
        self.fmu.terminate()
        self.fmu.freeInstance()

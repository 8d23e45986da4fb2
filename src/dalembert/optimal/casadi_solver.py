"""IPOPT, as it comes with casadi, on the functions of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from .functions import NonlinearProgram
    from .plan import Plan


def solve(program: NonlinearProgram, z: np.ndarray, options: Mapping[str, Any]) -> Plan:
    """The plan that IPOPT finds from z."""
    try:
        import casadi
    except ImportError as error:
        raise DalembertError(f"ipopt: casadi is missing ({error}): pip install casadi") from None
    n, m = len(program.start), len(program.constraint_lower)
    point, nothing, number = casadi.Sparsity.dense(n, 1), casadi.Sparsity(0, 0), casadi.Sparsity.dense(1, 1)
    values = casadi.Sparsity.dense(m, 1)
    jacobian = _Sparse(casadi, (m, n), *program.jacobianstructure())
    below = program.hessianstructure()
    hessian = _Sparse(casadi, (n, n), below[1], below[0])  # casadi takes what is above the diagonal

    def of_lagrangian(x: np.ndarray, _: Any, factor: np.ndarray, multipliers: np.ndarray) -> list[Any]:
        return [hessian.filled(program.hessian(x, multipliers, float(factor[0])))]

    cost = _callback(casadi, "cost", [point], [number], lambda x: [program.objective(x)])
    rows = _callback(casadi, "rows", [point], [values], lambda x: [program.constraints(x)])
    outer: dict[str, Any] = {
        "grad_f": _callback(
            casadi,
            "grad_f",
            [point, nothing],
            [number, point],
            lambda x, _: [program.objective(x), program.gradient(x)],
        ),
        "jac_g": _callback(
            casadi,
            "jac_g",
            [point, nothing],
            [values, jacobian.pattern],
            lambda x, _: [program.constraints(x), jacobian.filled(program.jacobian(x))],
        ),
        "hess_lag": _callback(casadi, "hess_lag", [point, nothing, number, values], [hessian.pattern], of_lagrangian),
    }
    x = casadi.MX.sym("x", n)
    settings = {"print_level": 0, "sb": "yes", "tol": 1e-9, "bound_relax_factor": 0.0} | dict(options)
    solver = casadi.nlpsol(
        "plan",
        "ipopt",
        {"x": x, "f": cost(x), "g": rows(x)},
        outer | {"ipopt": settings, "print_time": False, "no_nlp_grad": True},
    )
    solution = solver(x0=z, lbg=program.constraint_lower, ubg=program.constraint_upper)
    report = solver.stats()
    words = "" if report["success"] else f"IPOPT says {report['return_status']}"
    return program.plan(np.array(solution["x"]).ravel(), int(report["iter_count"]), bool(report["success"]), words)


class _Sparse:
    """A sparse matrix whose entries come in an order of their own, and add up where places come twice."""

    def __init__(self, casadi: Any, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> None:
        places, self._entry = np.unique(columns * shape[0] + rows, return_inverse=True)  # columns first, as casadi
        self._count, self._casadi = len(places), casadi
        row, column = (places % shape[0]).tolist(), (places // shape[0]).tolist()
        self.pattern = casadi.Sparsity.triplet(*shape, row, column)

    def filled(self, entries: np.ndarray) -> Any:
        return self._casadi.DM(self.pattern, np.bincount(self._entry, entries, self._count))


def _callback(casadi: Any, name: str, inputs: list[Any], outputs: list[Any], compute: Callable[..., list[Any]]) -> Any:
    """A function of Python as one of casadi; it must be kept alive as long as casadi calls it."""

    class Callback(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(inputs)

        def get_n_out(self) -> int:
            return len(outputs)

        def get_sparsity_in(self, k: int) -> Any:
            return inputs[k]

        def get_sparsity_out(self, k: int) -> Any:
            return outputs[k]

        def eval(self, arguments: list[Any]) -> list[Any]:
            return compute(*[np.array(x).ravel() for x in arguments])

    return Callback()

"""Draws docs/figures/derivations.svg: operations of inverse dynamics by three derivations, by number of joints."""

from __future__ import annotations

from pathlib import Path

from dalembert import ModelBuilder, Robot

METHODS = {
    "newton-euler": "recursive Newton-Euler",
    "lagrange": "Lagrange",
    "generalized-newton-euler": "equilibrium of every link",
}


def chain(n: int) -> Robot:
    builder = ModelBuilder(f"chain of {n}")
    for k in range(n):
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint="revolute",
            axis=(0, 0, 1) if k % 2 else (0, 1, 0),
            xyz=(0.3, 0.02, 0.1),
            mass=1.0,
            com=(0.1, 0.02, 0.03),
            inertia=[[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.04]],
        )
    return builder.build()


def main() -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.fonttype"], matplotlib.rcParams["svg.hashsalt"] = "none", "derivations"
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    counts = [1, 2, 3, 4, 6, 8]
    robots = [chain(n) for n in counts]
    for method, name in METHODS.items():
        axes.loglog(
            counts, [sum(r.operations("inverse_dynamics", method=method).values()) for r in robots], "o-", label=name
        )
    axes.set_xlabel("joints")
    axes.set_ylabel("operations")
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()

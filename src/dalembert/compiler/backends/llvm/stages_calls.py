"""Callers of the stages: a direction, all kernels with the sums of their measures, Newton steps, receding horizons.

Procedures (see `procedures`) of tables of addresses, so that a call from Python takes one argument for all arrays. The
slots of the tables are named here; `execute.stages` and `execute.receding` fill them.
"""

from __future__ import annotations

from typing import Any

from .procedure_values import F64, I64, PTR, External
from .procedures import ProcedureModule

INFINITE = float("inf")

backward: Any = External("", "@backward(ptr {}, ptr {}, ptr {}, ptr {}, ptr {}, double {}, i64 {}, ptr {})")
forward: Any = External("", "@forward(ptr {}, ptr {}, ptr {}, ptr {}, ptr {}, i64 {})")
kernel: Any = External("i64", "{}(ptr {}, ptr {}, ptr {}, i64 0, i64 {}, i64 1)")

# table of `direction`
QUADRATIC, TRANSITION, END, VALUE, GAINS, FIRST, STATES, CONTROLS, RESULT = range(9)

# table of `evaluate`; behind it for each kernel its code, inputs, strides, outputs and number of rows, then a null
AT_STAGES, AT_END, SUMS, KERNELS_AT = range(4)
MEASURES = 0  # numbers in a row of measures: each problem has its own

# table of `newton`: tables of `direction`; of `evaluate` from the first trajectory into the second and back; of the
# last evaluation, without slopes, there and back; lengths (2,), which all of them read; numbers
OF_DIRECTION, OF_EVALUATION, OF_LAST, LENGTHS, NUMBERS = 0, 1, 3, 5, 6
COST, GAIN, FLOOR, SETTLED, ARMIJO, NOISE, NOTHING = range(7)

# table of `recede`: tables of `direction` and of both `evaluate`; cells; (rows, 2) of reaches, null without
# constraints; numbers of rows; lists of (address, size), ended by a null; kernels, each for both trajectories, null
# where absent
SLOTS = (
    *("stages", "there", "back", "length", "is_first", "barrier", "reach of nodes", "reach of end"),
    *("widths", "memory in", "memory out", "requests", "replies"),
)
ITERATED, THERE, BACK, LENGTH, IS_FIRST, BARRIER, REACH, REACH_OF_END = range(8)
WIDTHS, MEMORY_IN, MEMORY_OUT, REQUESTS, REPLIES, MEASURE = range(8, 14)
KERNELS = ("measure", "rates of nodes", "rates of end", "control")
RATES, RATES_OF_END, CONTROL = MEASURE + 8, MEASURE + 16, MEASURE + 24


def compiled(stages: str, measures: int) -> bytes:
    """Object code of `direction`, `evaluate`, `newton` and `recede`; stages: IR of `backward` and `forward`."""
    program = ProcedureModule(MEASURES=measures)
    for function in (direction, evaluate, newton, recede):
        program.add(function, "")
    return program.compiled(stages)


def direction(table: PTR, damping: float, count: int):
    """Both ways: gains from the end to the first stage, then states and controls from there on."""
    quadratic, transition, gains = table[QUADRATIC], table[TRANSITION], table[GAINS]
    backward(quadratic, transition, table[END], table[VALUE], gains, damping, count, table[RESULT])
    forward(gains, transition, table[FIRST], table[STATES], table[CONTROLS], count)


def evaluate(table: PTR, count: int):
    """All stages and the end, and the sums of the measures that each has written; returns the status of the kernels."""
    words: I64 = table
    status, at = 0, KERNELS_AT
    while words[at] != 0:
        status = status | kernel(table[at], table[at + 1], table[at + 2], table[at + 3], words[at + 4])
        at = at + 5
    summed(table[AT_STAGES], table[AT_END], table[SUMS], count)
    return status


def summed(stages: F64, end: F64, sums: F64, count: int):
    """Sums over the rows of the stages and that of the end."""
    for j in range(MEASURES):
        sums[j] = end[j]
    for k in range(count):
        for j in range(MEASURES):
            sums[j] = sums[j] + stages[k * MEASURES + j]


def newton(table: PTR, side: int, most: int, count: int, tolerance: float):
    """Full steps of Newton's method as long as each lowers the cost enough; returns how many.

    side: the trajectory to begin from; below 0 the models of the first one are evaluated before, into the second.
    numbers: COST; GAIN, the decrease that the last model promised, twice; FLOOR, the least decrease that counts;
    SETTLED, 1 if the model promised no more than that, or than `tolerance` times the cost; ARMIJO, NOISE, NOTHING:
    parts of the promised decrease that must come true, of the cost that rounding may add, and of the first cost, or of
    1, below which costs count as none.
    """
    stages: PTR = table[OF_DIRECTION]
    length: F64 = table[LENGTHS]
    numbers: F64 = table[NUMBERS]
    result: F64 = stages[RESULT]
    numbers[SETTLED] = 0.0
    if side < 0:
        length[0], length[1], side = 0.0, 0.0, 1
        evaluation: PTR = table[OF_EVALUATION]
        evaluate(evaluation, count)
        sums: F64 = evaluation[SUMS]
        numbers[COST] = sums[0]
        numbers[FLOOR] = tolerance * numbers[NOTHING] * max(abs(sums[0]), 1.0)
        if not abs(sums[0]) < INFINITE:
            return 0
    length[0], length[1] = 1.0, 1.0
    taken, cost, goes_on = 0, numbers[COST], most > 0
    while goes_on and taken < most:
        direction(stages, 0.0, count)
        gain = result[0]
        numbers[GAIN] = gain
        if not (result[1] > 0.0 and gain < INFINITE):
            return taken
        goes_on = 0.5 * gain > max(tolerance * abs(cost), numbers[FLOOR])
        evaluation = table[(OF_EVALUATION if goes_on else OF_LAST) + side]
        evaluate(evaluation, count)
        sums = evaluation[SUMS]
        if not sums[0] <= cost + numbers[NOISE] * abs(cost) - numbers[ARMIJO] * gain:
            return taken
        taken, side, cost = taken + 1, 1 - side, sums[0]
        numbers[COST], numbers[SETTLED] = cost, 0.0 if goes_on else 1.0
    return taken


def recede(
    table: PTR, memory: F64, requests: F64, replies: F64, begin: int, end: int, count: int, iterations: int,
    weight: float, boundary: float,
):  # fmt: skip
    """For each of many motions: its plan is loaded, improved by so many iterations, and stored."""
    widths: I64 = table[WIDTHS]
    is_first: F64 = table[IS_FIRST]
    for k in range(begin, end):
        scatter(memory[k * widths[0] :], table[MEMORY_IN])
        scatter(requests[k * widths[1] :], table[REQUESTS])
        side = 0
        for i in range(iterations):
            evaluation: PTR = table[THERE + side]
            evaluate(evaluation, count)
            side = 1 - side
            is_first[0] = 1.0 if i == 0 else 0.0
            run(table, MEASURE, side, 1)
            direction(table[ITERATED], 0.0, count)
            lengths(table, evaluation[SUMS], side, count, weight, boundary)
        run(table, CONTROL, side, 1)
        gather(memory[k * widths[0] :], table[MEMORY_OUT])
        gather(replies[k * widths[2] :], table[REPLIES])


def lengths(table: PTR, sums: F64, side: int, count: int, weight: float, boundary: float):
    """Directions of slacks and multipliers at a barrier, and how far both may go; nothing without constraints."""
    words: I64 = table
    if words[REACH] == 0 and words[REACH_OF_END] == 0:
        return
    barrier: F64 = table[BARRIER]
    barrier[0] = abs(sums[0]) * weight
    run(table, RATES, side, count)
    run(table, RATES_OF_END, side, 1)
    primal, dual = 1e-300, 1e-300
    if words[REACH] != 0:
        primal, dual = farthest(table[REACH], count, primal, dual)
    if words[REACH_OF_END] != 0:
        primal, dual = farthest(table[REACH_OF_END], 1, primal, dual)
    length: F64 = table[LENGTH]
    length[0], length[1] = min(1.0, boundary / primal), min(1.0, boundary / dual)


def farthest(rows: F64, count: int, primal: float, dual: float):
    """The largest of both columns of rows (count, 2), or what is larger."""
    for k in range(count):
        primal, dual = max(primal, rows[2 * k]), max(dual, rows[2 * k + 1])
    return primal, dual


def run(table: PTR, slot: int, side: int, rows: int):
    """A bound kernel by its slot and its trajectory; nothing where its code is null."""
    words: I64 = table
    at = slot + 4 * side
    if words[at] != 0:
        kernel(table[at], table[at + 1], table[at + 2], table[at + 3], rows)


def scatter(row: F64, pieces: PTR):
    """A row in memory to its pieces, (address, size) of each."""
    words: I64 = pieces
    k, at = 0, 0
    while words[k] != 0:
        piece: F64 = pieces[k]
        for i in range(words[k + 1]):
            piece[i] = row[at + i]
        k, at = k + 2, at + words[k + 1]


def gather(row: F64, pieces: PTR):
    """A row in memory from its pieces."""
    words: I64 = pieces
    k, at = 0, 0
    while words[k] != 0:
        piece: F64 = pieces[k]
        for i in range(words[k + 1]):
            row[at + i] = piece[i]
        k, at = k + 2, at + words[k + 1]

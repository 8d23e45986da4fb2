"""Linear-quadratic problems in stages as LLVM IR: the backward recursion of Riccati and the sweep forward.

The columns of a row are SIMD lanes (see `linear.stages`), so that a product of matrices is broadcasts of one factor's
numbers, which come free from memory, times rows of the other. What calls these two is in `stages_calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from dalembert.linear.stages import LANES, StageLayout

from . import stages_calls
from .ir import Module
from .stages_chain import Chain
from .stages_writer import VECTOR, StageWriter
from .tiles import shuffle

MIRRORED = 4  # every so many stages, a power of two, V is made symmetric


def compiled(layout: StageLayout, step: float, measures: int) -> bytes:
    """Object code of the stages and their callers. step [s]: between stages, of a layout of two parts."""
    text = Module()
    _Backward(text, layout, step).define()
    _Forward(text, layout, step).define()
    return stages_calls.compiled(text.text(), measures)


class _Backward(StageWriter):
    """Gains of each stage from its quadratic model and that of all that follows.

    Q = H + [A B]ᵀ V [A B]; the rows of the control are eliminated, in all columns at once; V of the stage is the
    Schur complement that remains, and the gains u = K x + k follow by back substitution.
    """

    def define(self) -> None:
        b, layout = self.b, self.layout
        self.following = self.scratch(layout.states, self.sv + self.cv)  # V [A B]
        self.pivots = self.scratch(layout.controls, self.sv)  # rows of the control over the state, eliminated
        self.scaled = self.scratch(layout.controls, self.sv + self.cv)  # the same over both, divided by −pivot
        self.damping = b.splat("%damping")
        self.chain = Chain(self) if layout.is_chained else None
        for k in range(layout.value_width // LANES):  # V is overwritten from stage to stage; that of the end stays
            b.store(b.load("%end", k), "%value", k)
        gain, least = b.repeat("stage", "%count", self._stage, [b.const(0.0), b.const(float("inf"))])
        gradient = layout.constant % LANES
        for k, (x, lane) in enumerate(((gain, gradient), (least, 0))):
            number = b.op(f"extractelement {b.type} {x}, i32 {lane}")
            b.do(f"store double {number}, ptr {b.address('%result', 8 * k)}, align 8")
        b.do("ret void")
        self.module.define(
            b,
            "define void @backward(ptr noalias %quadratic, ptr noalias %transition, ptr noalias %end, "
            "ptr noalias %value, ptr noalias %gains, double %damping, i64 %count, ptr noalias %result)",
        )

    def _stage(self, index: str, carried: list[str]) -> list[str]:
        b, layout = self.b, self.layout
        k = b.op(f"sub i64 {b.op('sub i64 %count, 1')}, {index}")
        self.quadratic = self.at("%quadratic", k, 8 * layout.quadratic_width)
        if self.is_integrator:
            controls, state_rows = self._integrator()
        else:
            self.transition = self.at("%transition", k, 8 * layout.transition_width)
            controls, state_rows = self._general() if self.chain is None else self._chained(self.chain)
        gain, least = self._eliminated(controls, *carried)
        self._value(state_rows)
        now = b.op(f"icmp eq i64 {b.op(f'and i64 {index}, {MIRRORED - 1}')}, 0")
        b.branch(now, "mirror", self._mirror)
        self._gains(self.at("%gains", k, layout.controls * self.sv * VECTOR))
        return [gain, least]

    def _state_row(self, i: int) -> list[str]:
        start, length = self.layout.state_rows[i]
        return self.load(self.quadratic, length, start)

    def _control_row(self, j: int) -> list[str]:
        width = self.sv + self.cv
        return self.load(self.quadratic, width, self.layout.value_width // LANES + j * width)

    def _value_row(self, i: int) -> list[str]:
        start, length = self.layout.state_rows[i]
        return self.load("%value", length, start)

    def _keep_value_row(self, i: int, row: list[str]) -> None:
        self.store(row, "%value", self.layout.state_rows[i][0])

    def _general(self) -> tuple[list[list[str]], Callable[[int], list[str]]]:
        """Rows of Q from rows of [A B c]."""
        b, layout = self.b, self.layout
        n, m, width = layout.states, layout.controls, self.sv + self.cv
        gradient, lane = divmod(layout.constant, LANES)

        def value_gradient(i: int) -> list[str]:
            """V's gradient of row i, in the constant column."""
            row = self.at("%value", i, self.sv * VECTOR)
            sums = [b.const(0.0)] * width
            sums[gradient] = b.mul(self.broadcast(row, layout.constant), self.unit(lane))
            return sums

        def value(i: int, k: int | str) -> str:
            row = self.at("%value", i, self.sv * VECTOR)
            return self.broadcast(self.at(row, k, 8), 0)

        def transition_row(k: int | str) -> list[str]:
            return self.load(self.at(self.transition, k, self.row), width)

        def keep(i: int, sums: list[str]) -> None:
            self.store(sums, self.following, i * width)

        self.product(n, n, width, value, transition_row, value_gradient, keep)
        controls: list[list[str]] = []
        offset = 8 * LANES * self.sv

        def following_row(k: int | str) -> list[str]:
            return self.load(self.at(self.following, k, self.row), width)

        def control_factor(j: int, k: int | str) -> str:
            return self.broadcast(b.address(self.at(self.transition, k, self.row), offset + 8 * j), 0)

        self.product(m, n, width, control_factor, following_row, self._control_row, lambda j, x: controls.append(x))

        def state_factor(i: int, k: int | str) -> str:
            return self.broadcast(self.at(self.transition, k, self.row), layout.columns[i])

        def short_row(k: int | str) -> list[str]:
            return self.load(self.at(self.following, k, self.row), self.sv)

        # the row of Q lies where that of V lay, which is no longer needed
        self.product(n, n, self.sv, state_factor, short_row, self._state_row, self._keep_value_row)
        return controls, self._value_row

    def _chained(self, chain: Chain) -> tuple[list[list[str]], Callable[[int], list[str]]]:
        """Rows of Q where positions follow from velocities: products with the rows of the velocities alone."""
        b, layout, width = self.b, self.layout, self.sv + self.cv
        n, offset = layout.freedoms, 8 * LANES * self.sv

        def velocity_row(k: int | str) -> list[str]:
            return self.load(self.at(self.transition, k, self.row), width)

        def keep(i: int, sums: list[str]) -> None:
            self.store(sums, self.following, i * width)

        chain.combine(self.transition)
        self.product(layout.states, n, width, chain.combined, velocity_row, chain.following_start, keep)
        chain.gather(self.following)
        controls: list[list[str]] = []

        def control_factor(j: int, k: int | str) -> str:
            return self.broadcast(b.address(self.at(self.transition, k, self.row), offset + 8 * j), 0)

        def state_factor(i: int, k: int | str) -> str:
            return self.broadcast(self.at(self.transition, k, self.row), layout.columns[i])

        def state_start(i: int) -> list[str]:
            return chain.state_start(self.following, i, self._state_row(i))

        def short_row(k: int | str) -> list[str]:
            return chain.gathered(k)[: self.sv]

        def add_control(j: int, row: list[str]) -> None:
            controls.append(row)

        self.product(layout.controls, n, width, control_factor, chain.gathered, self._control_row, add_control)
        self.product(layout.states, n, self.sv, state_factor, short_row, state_start, self._keep_value_row)
        return controls, self._value_row

    def _integrator(self) -> tuple[list[list[str]], Callable[[int], list[str]]]:
        """Rows of Q for v' = v + h a, q' = q + h v': sums of rows and of parts of rows of V.

        With W = V_vq + h V_qq and P = V_vv + h (V_qv + W), what Q adds to H is V_qq; W, P; h W, h P, h² P.
        """
        b, n, h = self.b, self.layout.parts[0], self.b.const(self.step)
        hh, first = b.const(self.step**2), self.layout.part_vectors[0]
        qq = [self._value_row(i) for i in range(n)]
        below = [self._value_row(n + i) for i in range(n)]
        vq, vv = [row[:first] for row in below], [row[first:] for row in below]
        qv = self.transposed_square(vq)

        def plus(x: list[list[str]], y: list[list[str]]) -> list[list[str]]:
            """h x + y, as far as the rows of y go."""
            return [[b.fma(h, u, w) for u, w in zip(r, s, strict=False)] for r, s in zip(x, y, strict=True)]

        W = plus(qq, vq)
        P = plus(W, plus(qv, vv))
        controls = []
        for j in range(n):
            row = self._control_row(j)
            sums = [b.fma(h, x, y) for x, y in zip([*W[j], *P[j]], row[: self.sv], strict=True)]
            controls.append(sums + [b.fma(hh, x, y) for x, y in zip(P[j], row[self.sv :], strict=True)])

        def state_row(i: int) -> list[str]:
            terms = qq[i] if i < n else [*W[i - n], *P[i - n]]
            return [b.add(x, y) for x, y in zip(terms, self._state_row(i), strict=True)]

        return controls, state_row

    def _eliminated(self, rows: list[list[str]], gain: str, least: str) -> tuple[str, str]:
        """Gauss elimination of the rows of the control."""
        b, m = self.b, self.layout.controls
        gradient = self.layout.constant // LANES
        for k in range(m):
            block, lane = divmod(k, LANES)
            diagonal = self.sv + block
            damped = b.fma(self.damping, self.unit(lane), rows[k][diagonal])
            rows[k][diagonal] = damped
            pivot = shuffle(b, damped, "poison", [lane] * LANES)
            least = b.select(b.compare("olt", pivot, least), pivot, least)  # of NaN the gain tells
            inverse = b.binary("fdiv", b.const(-1.0), pivot)
            for j in range(k + 1, m):  # broadcasts wait for no division
                entry = shuffle(b, rows[k][self.sv + j // LANES], "poison", [j % LANES] * LANES)
                factor = b.mul(entry, inverse)
                rows[j] = [b.fma(factor, x, y) for x, y in zip(rows[k], rows[j], strict=True)]
            scaled = [b.mul(x, inverse) for x in rows[k]]
            self.store(scaled, self.scaled, k * len(scaled))
            self.store(rows[k][: self.sv], self.pivots, k * self.sv)
            gain = b.fma(b.neg(scaled[gradient]), rows[k][gradient], gain)
        return gain, least

    def _value(self, state_rows: Callable[[int], list[str]]) -> None:
        """V of the stage: Q over the state, less what the control can take away."""
        layout, columns, start = self.layout, self.layout.columns, 0
        for part, vectors in zip(layout.parts, accumulate(layout.part_vectors), strict=True):
            rows = range(start, start + part)

            def factor(i: int, k: int | str, rows: range = rows) -> str:
                return self.broadcast(self.at(self.scaled, k, self.row), columns[rows[i]])

            def pivot_row(k: int | str, vectors: int = vectors) -> list[str]:
                return self.load(self.at(self.pivots, k, self.sv * VECTOR), vectors)

            def begin(i: int, rows: range = rows) -> list[str]:
                return state_rows(rows[i])

            def keep(i: int, sums: list[str], rows: range = rows) -> None:
                self._keep_value_row(rows[i], sums)

            self.product(part, layout.controls, vectors, factor, pivot_row, begin, keep)
            start += part

    def _mirror(self) -> None:
        """V made symmetric: what lies above the diagonal is taken from below.

        Without it round-off grows from stage to stage where weights are large, until V is no longer positive.
        """
        b, layout, blocks = self.b, self.layout, self.layout.blocks
        for k, (rows, vector) in enumerate(blocks):
            for other, across in blocks[k:]:
                if across >= layout.state_rows[rows[0]][1]:
                    continue  # rows end before
                below = [b.load("%value", layout.state_rows[i][0] + vector) for i in other]
                turned = self.transposed(below + [b.const(0.0)] * (LANES - len(below)))
                for lane, i in enumerate(rows):
                    first = lane + 1 if across == vector else 0
                    mask = ", ".join(f"i1 {int(first <= j < len(other))}" for j in range(LANES))
                    place = layout.state_rows[i][0] + across
                    b.store(b.select(f"<{mask}>", turned[lane], b.load("%value", place)), "%value", place)

    def _gains(self, place: str) -> None:
        """Back substitution."""
        b, m, gains = self.b, self.layout.controls, {}
        for i in reversed(range(m)):
            row = self.at(self.scaled, i, self.row)
            gains[i] = self.load(row, self.sv)
            for j in range(i + 1, m):
                factor = self.broadcast(b.address(row, self.sv * VECTOR), j)
                gains[i] = [b.fma(factor, x, y) for x, y in zip(gains[j], gains[i], strict=True)]
            self.store(gains[i], place, i * self.sv)


class _Forward(StageWriter):
    """The states and controls that the gains give, from the first state on."""

    def define(self) -> None:
        b = self.b
        self.chain = Chain(self) if self.layout.is_chained else None
        last = b.repeat("stage", "%count", self._stage, self.load("%first", self.sv))
        self.store(last, self.at("%states", "%count", self.sv * VECTOR))
        b.do("ret void")
        self.module.define(
            b,
            "define void @forward(ptr noalias %gains, ptr noalias %transition, ptr noalias %first, "
            "ptr noalias %states, ptr noalias %controls, i64 %count)",
        )

    def _stage(self, index: str, state: list[str]) -> list[str]:
        b, layout = self.b, self.layout
        self.store(state, self.at("%states", index, self.sv * VECTOR))
        gains = self.at("%gains", index, layout.controls * self.sv * VECTOR)
        block, lane = divmod(layout.constant, LANES)
        affine = [*state]
        affine[block] = b.add(affine[block], self.unit(lane))
        control = self.products([self.load(gains, self.sv, j * self.sv) for j in range(layout.controls)], affine)
        self.store(control, self.at("%controls", index, self.cv * VECTOR))
        if self.is_integrator:
            first, h = layout.part_vectors[0], b.const(self.step)
            velocity = [b.fma(h, a, v) for a, v in zip(control, state[first:], strict=True)]
            padded = [*velocity, *[b.const(0.0)] * (first - len(velocity))]
            return [*(b.fma(h, v, q) for v, q in zip(padded, state[:first], strict=True)), *velocity]
        transition = self.at("%transition", index, 8 * layout.transition_width)
        width, count = self.sv + self.cv, layout.freedoms if layout.is_chained else layout.states
        rows = [self.load(transition, width, i * width) for i in range(count)]
        following = self.products(rows, [*affine, *control])
        if self.chain is not None:
            return self.chain.onward(transition, state, following)
        return [*following, *[b.const(0.0)] * (self.sv - len(following))]

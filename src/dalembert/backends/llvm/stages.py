"""Linear-quadratic problems in stages as LLVM IR: the backward recursion of Riccati and the sweep forward.

The columns of a row are SIMD lanes (see `linear.stages`), so that a product of matrices is broadcasts of one factor's
numbers, which come free from memory, times rows of the other. A third function evaluates all stages: it calls the
batch kernel of the stages and that of the end, and sums what they measure.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.linear.stages import LANES, StageLayout

from .ir import Module, literal
from .stages_calls import NEWTON, direction, evaluate
from .stages_chain import Chain
from .stages_receding import recede
from .stages_writer import VECTOR, StageWriter
from .tiles import shuffle

MIRRORED = 4  # every so many stages, a power of two, V is made symmetric


def module(layout: StageLayout, step: float, measures: int) -> str:
    """IR of `direction`, `evaluate`, `newton` and `recede`. step [s]: between stages, of a layout of two parts."""
    text = Module()
    _Backward(text, layout, step).define()
    _Forward(text, layout, step).define()
    return text.text() + direction() + evaluate(measures) + NEWTON + recede()


class _Backward(StageWriter):
    """Gains of each stage from its quadratic model and that of all that follows.

    Q = H + [A B]ᵀ V [A B]; the rows of the control are eliminated, in all columns at once; V of the stage is the
    Schur complement that remains, and the gains u = K x + k follow by back substitution.
    """

    def define(self) -> None:
        b, layout = self.b, self.layout
        self.following = self.scratch(layout.states, self.sv + self.cv)  # V [A B]
        self.pivots = self.scratch(layout.controls, self.sv + self.cv)  # rows of the control, eliminated
        self.scaled = self.scratch(layout.controls, self.sv)  # the same over the state, divided by −pivot
        self.damping = b.splat("%damping")
        self.chain = Chain(self) if layout.is_chained else None
        for k in range(layout.states * self.sv):  # V is overwritten from stage to stage; that of the end stays
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
        factors, scaled, gain, least = self._eliminated(controls, *carried)
        self._value(state_rows)
        now = b.op(f"icmp eq i64 {b.op(f'and i64 {index}, {MIRRORED - 1}')}, 0")
        b.branch(now, "mirror", self._mirror)
        self._gains(factors, scaled, self.at("%gains", k, layout.controls * self.sv * VECTOR))
        return [gain, least]

    def _state_row(self, i: int) -> list[str]:
        return self.load(self.quadratic, self.sv, i * self.sv)

    def _control_row(self, j: int) -> list[str]:
        return self.load(self.quadratic, self.sv + self.cv, self.layout.states * self.sv + j * (self.sv + self.cv))

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

        def replace(i: int, sums: list[str]) -> None:
            """The row of Q lies where that of V lay, which is no longer needed."""
            self.store(sums, "%value", i * self.sv)

        self.product(n, n, self.sv, state_factor, short_row, self._state_row, replace)
        return controls, lambda i: self.load("%value", self.sv, i * self.sv)

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

        def replace(i: int, sums: list[str]) -> None:
            self.store(sums, "%value", i * self.sv)

        self.product(
            layout.controls,
            n,
            width,
            control_factor,
            chain.gathered,
            self._control_row,
            lambda j, x: controls.append(x),
        )
        self.product(
            layout.states, n, self.sv, state_factor, lambda k: chain.gathered(k)[: self.sv], state_start, replace
        )
        return controls, lambda i: self.load("%value", self.sv, i * self.sv)

    def _integrator(self) -> tuple[list[list[str]], Callable[[int], list[str]]]:
        """Rows of Q for v' = v + h a, q' = q + h v': sums of rows and of parts of rows of V."""
        b, n, h = self.b, self.layout.parts[0], self.b.const(self.step)
        hh = b.const(self.step**2)
        first = self.layout.part_vectors[0]
        later = self.layout.part_vectors[1]
        value = [self.load("%value", self.sv, i * self.sv) for i in range(2 * n)]
        qq, qv = [row[:first] for row in value[:n]], [row[first:] for row in value[:n]]
        vq, vv = [row[:first] for row in value[n:]], [row[first:] for row in value[n:]]

        def plus(x: list[list[str]], y: list[list[str]]) -> list[list[str]]:
            """h x + y, as far as the rows of y go."""
            return [[b.fma(h, u, w) for u, w in zip(r, s, strict=False)] for r, s in zip(x, y, strict=True)]

        moved_q, moved_v = plus(qq, vq), plus(qv, vv)  # rows of [h 1] V
        moved = plus(moved_q, moved_v)  # [h 1] V [h; 1], over the velocity
        controls = []
        for j in range(n):
            row = self._control_row(j)
            terms = [*moved_q[j], *moved[j]]
            sums = [b.fma(h, x, y) for x, y in zip(terms, row[: self.sv], strict=True)]
            controls.append(sums + [b.fma(hh, x, y) for x, y in zip(moved[j], row[self.sv :], strict=True)])
        across = plus(qq, qv)

        def state_row(i: int) -> list[str]:
            terms = [*qq[i], *across[i]] if i < n else [*moved_q[i - n], *moved[i - n]]
            return [b.add(x, y) for x, y in zip(terms, self._state_row(i), strict=True)]

        assert later == self.cv
        return controls, state_row

    def _eliminated(
        self, rows: list[list[str]], gain: str, least: str
    ) -> tuple[dict[tuple[int, int], str], list[list[str]], str, str]:
        """Gauss elimination of the rows of the control. factors[j, k]: what row j took of row k."""
        b, m = self.b, self.layout.controls
        gradient = self.layout.constant // LANES
        factors: dict[tuple[int, int], str] = {}
        scaled: list[list[str]] = []
        for k in range(m):
            block, lane = divmod(k, LANES)
            diagonal = self.sv + block
            damped = b.fma(self.damping, self.unit(lane), rows[k][diagonal])
            rows[k][diagonal] = damped
            pivot = b.op(f"extractelement {b.type} {damped}, i32 {lane}")
            least = b.intrinsic("minimum", least, b.splat(pivot))
            inverse = b.splat(b.op(f"fdiv double {literal(-1.0, 'double')}, {pivot}"))
            negative = [b.mul(x, inverse) for x in rows[k]]
            for j in range(k + 1, m):
                factors[j, k] = shuffle(b, negative[self.sv + j // LANES], "poison", [j % LANES] * LANES)
                rows[j] = [b.fma(factors[j, k], x, y) for x, y in zip(rows[k], rows[j], strict=True)]
            scaled.append(negative[: self.sv])
            self.store(scaled[k], self.scaled, k * self.sv)
            self.store(rows[k][: self.sv], self.pivots, k * self.sv)
            gain = b.fma(b.neg(negative[gradient]), rows[k][gradient], gain)
        return factors, scaled, gain, least

    def _value(self, state_rows: Callable[[int], list[str]]) -> None:
        """V of the stage: Q over the state, less what the control can take away."""
        columns = self.layout.columns

        def factor(i: int, k: int | str) -> str:
            return self.broadcast(self.at(self.scaled, k, self.sv * VECTOR), columns[i])

        def pivot_row(k: int | str) -> list[str]:
            return self.load(self.at(self.pivots, k, self.sv * VECTOR), self.sv)

        def keep(i: int, sums: list[str]) -> None:
            self.store(sums, "%value", i * self.sv)

        self.product(self.layout.states, self.layout.controls, self.sv, factor, pivot_row, state_rows, keep)

    def _mirror(self) -> None:
        """V made symmetric: what lies above the diagonal is taken from below.

        Without it round-off grows from stage to stage where weights are large, until V is no longer positive.
        """
        b, blocks = self.b, self.layout.blocks
        for k, (rows, vector) in enumerate(blocks):
            for other, across in blocks[k:]:
                below = [b.load("%value", i * self.sv + vector) for i in other]
                turned = self.transposed(below + [b.const(0.0)] * (LANES - len(below)))
                for lane, i in enumerate(rows):
                    first = lane + 1 if across == vector else 0
                    mask = ", ".join(f"i1 {int(first <= j < len(other))}" for j in range(LANES))
                    place = i * self.sv + across
                    b.store(b.select(f"<{mask}>", turned[lane], b.load("%value", place)), "%value", place)

    def _gains(self, factors: dict[tuple[int, int], str], scaled: list[list[str]], place: str) -> None:
        """Back substitution."""
        b, m = self.b, self.layout.controls
        for i in reversed(range(m)):
            for j in range(i + 1, m):
                scaled[i] = [b.fma(factors[j, i], x, y) for x, y in zip(scaled[j], scaled[i], strict=True)]
            self.store(scaled[i], place, i * self.sv)


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

"""Stages whose positions follow from their velocities, q' = D q + E v' + c, as LLVM IR.

D is 1 and E the step's duration, but for the few freedoms on a manifold (`StageLayout.curved`), such as those of a free
base. Then V [A B] and [A B]ᵀ V [A B] need products with the rows of the velocities alone, half as many as in general:

    V [A B] = V_q D + (V_q E + V_v) [A B]_v,      [A B]ᵀ F = Dᵀ F_q + [A B]_vᵀ (Eᵀ F_q + F_v)
"""

from __future__ import annotations

from dalembert.linear.stages import LANES

from .stages_writer import VECTOR, StageWriter


class Chain:
    """Memory and rows of that structure, for the functions that go backward and forward."""

    def __init__(self, writer: StageWriter) -> None:
        self.w, self.b, self.layout = writer, writer.b, writer.layout
        layout = self.layout
        self.n, self.vectors, self.curved_vectors = layout.freedoms, layout.freedom_vectors, layout.curved_vectors
        self.width = writer.sv + writer.cv
        self.sums = writer.scratch(layout.states, self.vectors)  # V_q E + V_v
        self.offsets = writer.scratch(1, writer.sv)  # V_q c, a number for each row of V
        self.rows = writer.scratch(self.n, self.width)  # Eᵀ F_q + F_v
        self.state = writer.scratch(1, writer.sv + self.vectors)

    # ---- the record of a stage: rows of velocities, c, durations, rows of D and E of curved freedoms

    def _record(self, transition: str) -> str:
        return self.b.address(transition, self.n * self.w.row)

    def _constants(self, record: str) -> list[str]:
        return self.w.load(record, self.vectors)

    def _durations(self, record: str) -> list[str]:
        """The duration for each freedom, 0 for curved ones."""
        return self.w.load(record, self.vectors, self.vectors)

    def _curved_row(self, record: str, k: int, of_velocity: bool) -> str:
        """The address of the row of D or E of a curved freedom."""
        place = 2 * self.vectors + (k + of_velocity * len(self.layout.curved or ())) * self.curved_vectors
        return self.b.address(record, place * VECTOR)

    def _flat_part(self, row: list[str]) -> list[str]:
        """The numbers of a row over the positions of flat freedoms, zeros elsewhere."""
        curved = self.layout.curved or ()
        parts = []
        for k, x in enumerate(row):
            lanes = [int(i < self.n and i not in curved) for i in range(k * LANES, (k + 1) * LANES)]
            mask = ", ".join(f"i1 {lane}" for lane in lanes)
            parts.append(self.b.select(f"<{mask}>", x, self.b.const(0.0)))
        return parts

    def _shifted(self, base: str) -> list[str]:
        """The part of a row over the velocities, which need not begin where a vector does."""
        b = self.b
        places = [b.address(base, 8 * self.n + VECTOR * k) for k in range(self.vectors)]
        return [b.op(f"load {b.type}, ptr {place}, align 8") for place in places]

    # ---- backward

    def combine(self, transition: str) -> None:
        """V_q E + V_v, and V_q c, of each row of V; the record is remembered for what follows."""
        b, w = self.b, self.w
        self.record = self._record(transition)
        constants, durations = self._constants(self.record), self._durations(self.record)
        dots = []
        for r in range(self.layout.states):
            row = b.address("%value", r * w.sv * VECTOR)
            positions = w.load(row, self.vectors)
            dot = b.mul(constants[0], positions[0])
            for x, y in zip(constants[1:], positions[1:], strict=True):
                dot = b.fma(x, y, dot)
            dots.append(dot)
            combined = [b.fma(t, x, y) for t, x, y in zip(durations, positions, self._shifted(row), strict=True)]
            for k, i in enumerate(self.layout.curved or ()):
                factor = w.broadcast(row, i)
                rows = w.load(self._curved_row(self.record, k, True), self.curved_vectors)
                combined[: self.curved_vectors] = [
                    b.fma(factor, x, y) for x, y in zip(rows, combined[: self.curved_vectors], strict=True)
                ]
            w.store(combined, self.sums, r * self.vectors)
        dots += [b.const(0.0)] * (-len(dots) % LANES)
        for k in range(0, len(dots), LANES):
            b.store(w.lane_sums(dots[k : k + LANES]), self.offsets, k // LANES)

    def combined(self, r: int, k: int | str) -> str:
        """An entry of V_q E + V_v in all lanes."""
        return self.w.broadcast(self.w.at(self.b.address(self.sums, r * self.vectors * VECTOR), k, 8), 0)

    def following_start(self, r: int) -> list[str]:
        """V_q D of a row of V, with V's gradient and V_q c in the constant column."""
        b, w, layout = self.b, self.w, self.layout
        row = b.address("%value", r * w.sv * VECTOR)
        parts = self._flat_part(w.load(row, self.vectors))
        parts += [b.const(0.0)] * (self.width - len(parts))
        for k, i in enumerate(layout.curved or ()):
            factor = w.broadcast(row, i)
            rows = w.load(self._curved_row(self.record, k, False), self.curved_vectors)
            for j, x in enumerate(rows):
                parts[j] = b.fma(factor, x, parts[j])
        block, lane = divmod(layout.constant, LANES)
        constant = b.add(w.broadcast(row, layout.constant), w.broadcast(self.offsets, r))
        parts[block] = b.fma(constant, w.unit(lane), parts[block])
        return parts

    def gather(self, following: str) -> None:
        """Eᵀ F_q + F_v, a row for each velocity."""
        b, w = self.b, self.w
        curved = self.layout.curved or ()
        durations = b.address(self.record, self.vectors * VECTOR)
        for i in range(self.n):
            sums = w.load(following, self.width, (self.n + i) * self.width)
            if i in curved:
                terms = [(w.broadcast(self._curved_row(self.record, k, True), i), j) for k, j in enumerate(curved)]
            else:
                terms = [(w.broadcast(durations, i), i)]
            for factor, j in terms:
                row = w.load(following, self.width, j * self.width)
                sums = [b.fma(factor, x, y) for x, y in zip(row, sums, strict=True)]
            w.store(sums, self.rows, i * self.width)

    def gathered(self, k: int | str) -> list[str]:
        """A row of Eᵀ F_q + F_v."""
        return self.w.load(self.w.at(self.rows, k, self.width * VECTOR), self.width)

    def state_start(self, following: str, i: int, row: list[str]) -> list[str]:
        """A row of H over the state, with that of Dᵀ F_q added."""
        b, w = self.b, self.w
        if i >= self.n:
            return row
        curved = self.layout.curved or ()
        if i not in curved:
            return [b.add(x, y) for x, y in zip(row, w.load(following, w.sv, i * self.width), strict=True)]
        for k, j in enumerate(curved):
            factor = w.broadcast(self._curved_row(self.record, k, False), i)
            row = [b.fma(factor, x, y) for x, y in zip(w.load(following, w.sv, j * self.width), row, strict=True)]
        return row

    # ---- forward

    def onward(self, transition: str, state: list[str], velocities: list[str]) -> list[str]:
        """The state behind a stage, of its state and the velocities behind it."""
        b, w, count = self.b, self.w, self.curved_vectors
        record = self._record(transition)
        flat = self._flat_part(state[: self.vectors])
        positions = [b.add(x, y) for x, y in zip(flat, self._constants(record), strict=True)]
        durations = self._durations(record)
        positions = [b.fma(t, v, x) for t, v, x in zip(durations, velocities, positions, strict=True)]
        curved = self.layout.curved or ()
        if curved:
            rows = [[b.const(0.0)] * (2 * count)] * self.n
            for k, i in enumerate(curved):
                rows[i] = [x for e in (False, True) for x in w.load(self._curved_row(record, k, e), count)]
            turned = w.products(rows[: count * LANES], [*state[:count], *velocities[:count]])
            positions[:count] = [b.add(x, y) for x, y in zip(positions[:count], turned, strict=True)]
        w.store(positions, self.state)
        for k in range(self.vectors, w.sv + self.vectors):
            b.store(b.const(0.0), self.state, k)
        for k, x in enumerate(velocities):
            b.do(f"store {b.type} {x}, ptr {b.address(self.state, 8 * self.n + VECTOR * k)}, align 8")
        return w.load(self.state, w.sv)

"""`rollout` and `stepper`: batches of motions with fixed steps, gradients through them, and single steps.

In the order of a call: `settings` (in `sim`) → `plan` (arrays, checked) with `prepared` (what steps take of a model) →
`stepping` (the traced step and its loops) → `motions` (the batch, on the processor and on GPUs) → `rollout` and
`result`. `adjoint`, `gradient` and `tangent` are derivatives of motions, `memory` and `forces` what a rollout hands to
the next one and reports of contacts, `accelerations` what follows from its states, `live` what may differ from motion
to motion, `tallies` what is measured along each, `planned_motions` motions whose controllers plan between compiled
pieces of steps, `stepper` the same step as a function of its own, `closed` what warns of open loops, `lone_law` how a
law is known without the step. `ready` keeps what is planned for the next call like it, `play` for a caller who asks
for that.
"""

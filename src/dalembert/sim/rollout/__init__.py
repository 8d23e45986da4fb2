"""`rollout` and `stepper`: batches of motions with fixed steps, gradients through them, and single steps.

In the order of a call: `settings` (in `sim`) → `plan` (elements, arrays, checked; and kept for the next call like it) →
`stepping` (the traced step and its loops) → `motions` (the batch, on the processor and on GPUs) → `result`, all called
by `rollout`. `adjoint` and `gradient` are derivatives of motions, `memory` what a rollout hands to the next one, `live`
what may differ from motion to motion, `tallies` what is measured along each, `stepper` the same step as a function of
its own.
"""

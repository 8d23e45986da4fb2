"""`rollout` and `stepper`: batches of motions with fixed steps, gradients through them, and single steps."""

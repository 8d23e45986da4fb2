"""Optimal control: plans and receding horizons from a cost written in Python."""

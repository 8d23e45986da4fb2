"""Mechanisms by bodies, named points and joints between points."""

"""Motions in time: profiles, splines, paths, and the fastest motion along a path."""

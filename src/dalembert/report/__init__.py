"""The report: one offline HTML page about a robot, for people: structure, audit, maps, torques, reactions, sizing.

In: a `Robot`. Out: a file. Read in this order: `page`, what is on it; `figures`, its drawings; `speed`.
"""

from .page import write_report

__all__ = ["write_report"]

"""The report: one offline HTML page about a robot, for people: structure, audit, maps, torques, reactions, sizing."""

from .page import write_report

__all__ = ["write_report"]

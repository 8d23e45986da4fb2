"""Identification: from a robot's log to a model that is right and physically possible."""

from .base import BaseParameters, base_parameters
from .checks import Doubt, LogError
from .fit import Fit, fit
from .validation import Validation

__all__ = ["BaseParameters", "Doubt", "Fit", "LogError", "Validation", "base_parameters", "fit"]

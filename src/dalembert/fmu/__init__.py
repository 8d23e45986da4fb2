"""Simulations as FMUs (FMI 2.0 and 3.0): C code of the compiled step, a description of its variables, a binary.

export                       the archive: what is asked for, checked and written
functions → source           traced functions of a step, its outputs, rates and slopes; their C code
variables → description      the values of an instance, with names, units and starts; modelDescription.xml
binary                       the shared library, where there is a compiler
runtime/                     the C functions of the interface, which all FMUs share
"""

from .export import Exported, FmuSettings, export

__all__ = ["Exported", "FmuSettings", "export"]

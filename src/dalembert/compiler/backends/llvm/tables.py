"""Data that the code of fast calls reads: offsets in objects of Python and NumPy, and the words of its tables.

`fastcall` compares the offsets with the running versions. An `EntryWords` describes the parameters of one function. A
`VariantWords` describes one kernel: its inputs, its results, the addresses of its code.
"""

from __future__ import annotations

MAX_INPUTS, MAX_OUTPUTS, MAX_DIMS, MAX_VIEWS, MAX_PARAMETERS = 16, 4, 4, 8, 24
MAX_RECORDS, VECTORS = 4, 3  # objects in an argument, and vectors of each
MAX_COPIED = 512  # numbers of arguments that are not dense

# Offsets in structs, in bytes
TYPE, SIZE, NUMBER = 8, 16, 16  # of any object; of a sequence; the value of a float
TUPLE_ITEMS = tuple.__basicsize__  # at 24 before Python 3.14, at 32 since
LIST_ITEMS = 24  # where a list keeps the address of its items
DATA, RANK, DIMENSIONS, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64  # of an array
DENSE, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # its flags


class EntryWords:
    """Words of the table of a function: the constants of Python that it compares with, then its parameters."""

    SLOW, ROOT, PARAMETERS, POSITIONAL = range(4)  # ROOT: the node of calls without choices
    CONSTANTS = (
        "array", "text", "tuple", "list", "float", "float64", "int", "none", "true", "false", "one",
        "double", "single", "out", "threads", "check", "backend",
    )  # fmt: skip
    FIRST = 4 + len(CONSTANTS)
    NAME, ROLE, DEFAULT, MARK, RECORD = range(5)  # of each parameter, and (ROLE alone) of each vector of records
    WORDS = 5

    @classmethod
    def constant(cls, name: str) -> int:
        """Place of a constant."""
        return 4 + cls.CONSTANTS.index(name)


class NodeWords:
    """Words of a node of the search for the variant: the variant, if nothing more is chosen; a dict of more nodes.

    The keys are the value of a choice without a default; the mark of a parameter that is given otherwise than by
    default, then its value, or the words of its records.
    """

    VARIANT, BEHIND = range(2)


class Records:
    """Words of the table of a parameter's records: their type, then the places of their slots."""

    KIND, WORD, VECTOR = 0, 1, 3


class VariantWords:
    """Words of the table of a kernel."""

    LIMIT, INPUTS, OUTPUTS, NUMBERS, KIND, VIEWS = range(6)  # NUMBERS: of all outputs; KIND: type of a tuple, or 0
    KERNELS = 6  # double: one state, batch; float: one state, batch
    INPUT = KERNELS + 4  # of each: number of the parameter, size
    OUTPUT = INPUT + 2 * MAX_INPUTS  # of each: rank, dimensions
    VIEW = OUTPUT + MAX_OUTPUTS * (1 + MAX_DIMS)  # of each part of the only output: offset, rank, dimensions, strides
    VIEW_WORDS = 2 + 2 * MAX_DIMS
    WORDS = VIEW + MAX_VIEWS * VIEW_WORDS

"""The version of the package, for files that name what wrote them."""

__version__ = "1.0.0rc1"

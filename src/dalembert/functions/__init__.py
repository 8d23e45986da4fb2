"""The numeric methods of `Robot`, one family per file. Each method names a quantity of the catalogue."""

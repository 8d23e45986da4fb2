"""USD stages with UsdPhysics → Model, through OpenUSD's own library.

Read in this order: `files` (what is opened, within limits), `source` (checked attributes, units, places), `choice`
(which robot), `links`, `shapes`, `joints`, `drives`, `layout` (bodies where the joints have them at zero), `reader`.
"""

from .reader import read_usd

__all__ = ["read_usd"]

"""How time advances: one step of each method, and the compiled loops that repeat it."""

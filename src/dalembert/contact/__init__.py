"""Contact laws: which shapes may touch, what they are made of, and the forces between them."""

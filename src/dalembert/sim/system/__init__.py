"""The system that is integrated: equations of motion with elements, constraints and accounts, and what drives them."""

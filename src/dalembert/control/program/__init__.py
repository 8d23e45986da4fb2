"""The whole-body program: tasks, supports and limits as one quadratic program per tick of the controller."""

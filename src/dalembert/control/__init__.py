"""Control laws, estimators and the whole-body program."""

"""Python's syntax while a function is walked: one function for every kind of statement and expression."""

"""Compiled functions: what decorators make, from the signature of a call to its kernel."""

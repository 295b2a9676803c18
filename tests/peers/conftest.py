"""Comparisons with other packages are collected only where those are installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_torch_*.py"]

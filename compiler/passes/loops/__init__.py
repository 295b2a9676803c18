"""Passes on loops: rolled up, hoisted, distributed, cut into blocks and stretches."""

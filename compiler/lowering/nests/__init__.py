"""Array work as nests of loops: what is fused, in which order it runs, on which vector axis."""

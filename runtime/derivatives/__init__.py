"""Derivatives beyond the gradient: products with Jacobians and Hessians, and these themselves, dense or sparse.

Every transform here is traced as a whole and becomes one compiled function, like `grad`: it has `ir()`, `report()` and
`out=`, and stands in the trace of another.
"""

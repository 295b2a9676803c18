"""Functions of Tensors with the names and signatures of the Python array API standard, 2024.12.

Source: https://data-apis.org/array-api/2024.12. What `x.__array_namespace__()` gives is `pullback.array_api`.
"""

"""Front ends: what turns Python functions over NumPy into graphs.

This floor knows NumPy's functions, promotion and protocols, and the shapes of Python arguments; it does not
know transforms, and nothing below knows it.

    trace = tracing (which function is being traced), array (what it is handed), the meanings of NumPy's
            functions (ufuncs, reductions, shaping, products, creation), hidden (what it reads beside them)
"""

from . import creation, products, reductions, shaping, ufuncs

__all__ = ["creation", "products", "reductions", "shaping", "ufuncs"]

"""scipy.integrate with traced parameters: integrals, paths and boundary values, as loops of the graph."""

"""What both ways need of SymPy: classes of our own, walks over what has shared parts, bounds on its work."""

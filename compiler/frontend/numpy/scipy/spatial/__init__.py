"""scipy.spatial on traced points: distances and rotations."""

"""Complex numbers as pairs of real ones: their algebra, what makes and parts them, transforms and matrices."""

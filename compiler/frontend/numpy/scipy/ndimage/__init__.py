"""scipy.ndimage on traced images: filters, measurements, and images between the points of a grid."""

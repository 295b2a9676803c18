"""The layers of networks and their losses, as modules."""

"""Packages of others that import torch, run with pullback under that name: `make test-clients` installs them."""

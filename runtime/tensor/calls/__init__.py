"""Whole calls of functions of tensors: noted the first time, recognised from then on."""

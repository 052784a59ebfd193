"""Weights of other projects, as our models."""

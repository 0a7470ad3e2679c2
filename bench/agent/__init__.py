"""Measurements of the agent."""

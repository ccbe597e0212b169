"""Hands of the Worker: workspace and run. One bounded act each."""

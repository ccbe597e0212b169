"""The workbench: the page's server, its gate, its feed, and the roles it starts.

Starts roles and speaks to the gateway over the wire; never looks into a Board or a Worker.
"""

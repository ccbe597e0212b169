"""The watcher: waits for the council without a model, and starts an agent when it is needed.

    core.py       when a command starts, and when it does not: the rails
    worklist.py   which threads an answer of the council names, and how a command is told
    settings.py   flags and environment of `rulith watch`
    asking.py     the council over HTTP: who we are, what moved
    listening.py  the wake socket, held open
    starts.py     the starts of the last hour, kept over restarts
    watcher.py    all of it together, in one loop

Knows nothing of the council's law or store: it is a client like any other.
"""

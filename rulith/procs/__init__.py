"""The only room that starts processes: spawn, tree kill, bounded output, role children."""

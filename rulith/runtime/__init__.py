"""The Agent: its session with the Board, its turns, its transcript, its driver without a model."""

"""The Agent: turns, transcript, held calls, the board driver."""

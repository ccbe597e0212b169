"""Law: Cases, facts, Actions, gates, views. (state, command) -> events or Refused."""

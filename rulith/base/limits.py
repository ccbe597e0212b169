"""Every bound in one place, each with its reason. Sizes in bytes, spans in seconds unless named otherwise."""

INTEGER_MAX = 2**53 - 1          # the exact range that JSON readers share

# One message on the wire
BODY_BYTES_MAX = 8 * 2**20 + 65_536   # the surface's own limit on an answer
REQUEST_BODY_BYTES_MAX = 1 * 2**20    # no tool call needs more; uploads have their own route
HEADER_BYTES_MAX = 32_768
JSON_DEPTH_MAX = 64              # deeper nesting is an attack on the reader, not data
LOCAL_API_BODY_BYTES_MAX = 65_536

# Waiting
HEADER_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 75.0
CONNECT_TIMEOUT_S = 10.0

# The Board
BATCH_OPERATIONS_MAX = 500
STRING_BYTES_MAX = 65_536        # one scalar on a Board
FACTS_MAX = 200_000
DERIVED_MAX = 500_000
RULES_MAX = 5_000
RULE_BODY_MAX = 32
JOIN_BINDINGS_MAX = 100_000      # per rule literal and delta round
CLOSURE_ROUNDS_MAX = 100_000

# Worker hop
TOOLS_MAX = 128
ACTIVE_LEASE_MS = 60_000
HEARTBEAT_MS = 10_000
POLL_HOLD_S = 20.0               # well under the lease window

# Agent surface
HOLD_BOUND_S = 50.0
STRIP_ROWS_MAX = 7
VIEW_NODES_WRITE_MAX = 60        # what a write's answer carries
VIEW_BYTES_WRITE_MAX = 8_192
VIEW_NODES_QUERY_MAX = 500

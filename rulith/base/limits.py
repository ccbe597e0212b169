"""Every bound in one place, each with its reason. Sizes in bytes, spans in seconds unless named otherwise."""

INTEGER_MAX = 2**53 - 1          # the exact range that JSON readers share

# One message on the wire
BODY_BYTES_MAX = 8 * 2**20 + 65_536   # the surface's own limit on an answer
REQUEST_BODY_BYTES_MAX = 1 * 2**20    # no tool call needs more; uploads have their own route
HEADER_BYTES_MAX = 32_768
JSON_DEPTH_MAX = 64              # deeper nesting is an attack on the reader, not data
LOCAL_API_BODY_BYTES_MAX = 65_536
CAPABILITY_BYTES_MAX = 512 * 1024    # a Capability file; quoted in a request body it stays under one MiB
RECEIPT_BYTES_MAX = 64 * 2**20        # a proof bundle; thousands of premises stay far below
RECEIPT_DEPTH_MAX = 256              # two levels for each step of a proof, which is cut at 64 steps
ARCHIVE_BYTES_MAX = 64 * 2**20       # the running file; ours is about one MiB
CONTROL_LINE_BYTES_MAX = 1 * 2**20   # settings or a control message on a role's stdin
EVENT_LINE_BYTES_MAX = 1 * 2**20     # one event on a role's stdout; display copies inside are cut at 32 KiB
LOG_BYTES_MAX = 4 * 2**20            # a role's log is moved aside at its next start when over this
SETTINGS_BYTES_MAX = 1 * 2**20        # a settings, profile or vault file

# Waiting
HEADER_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 75.0
CONNECT_TIMEOUT_S = 10.0
BODY_TIMEOUT_S = 60.0            # a whole request body, however slowly it drips
SEND_TIMEOUT_S = 30.0            # a reader that takes nothing for this long is gone
LINGER_S = 2.0                   # after an early answer, so that a reset does not eat it
LINK_BUFFER_BYTES_MAX = 262_144  # received and not yet read; then the peer must wait
CLIENT_IDLE_S = 55.0             # shorter than any server's keep-alive that we meet: a pooled link that may be dying is not used
POOL_LINKS_MAX = 32              # idle links kept per origin
REQUEST_TIMEOUT_S = 60.0
CONNECTIONS_MAX = 4_096          # of one server; more get 503 at once
PIPELINE_BYTES_MAX = 65_536      # requests that wait while one is answered
SOCKET_PING_S = 30.0             # between two pings of a WebSocket, from either end
SOCKET_PINGS_MISSED_MAX = 2      # without an answer; then the other end is gone
SOCKET_SILENCE_S = 90.0          # without a byte from the other end
SOCKET_MESSAGE_BYTES_MAX = 65_536     # one message, however it is cut into frames
SOCKET_TEXTS_MAX = 64            # received and not yet taken; then the other end must wait

# The Board
BATCH_OPERATIONS_MAX = 500
STRING_BYTES_MAX = 65_536        # one scalar on a Board
ARGUMENTS_MAX = 128              # of one atom; its relation is compiled column by column
ARGUMENT_SETS_MAX = 256          # ways in which the facts of one predicate name their arguments: each literal meets each
FACTS_MAX = 200_000
DERIVED_MAX = 500_000
DEPENDENCIES_MAX = 256           # functional dependencies in force: each groups every fact of its predicate
RULES_MAX = 5_000
RULE_BODY_MAX = 32
JOIN_BINDINGS_MAX = 100_000      # per rule literal and delta round
CLOSURE_ROUNDS_MAX = 100_000
CLOSURE_STEPS_MAX = 5_000_000     # join steps of one batch, weighed by guards: under 2 s; a hostile rule must not take minutes
VALUES_FRESH_MIN = 4_096          # new values of a Board before those that nothing holds are looked for
RULE_CODE_MAX = 20_000            # terms and literals of the differently shaped rule functions that one batch runs: a second of compiling
LOOP_STEPS_MAX = 20_000           # of one command on the gateway's loop, some 10 ms; more runs beside it
SWITCH_S = 0.0005                 # how long a command beside the loop may keep it waiting, each time
TEXT_WORK_MAX = 1_000_000         # of one rule literal and delta round: 16 letters made, or 64 searched, count as a step

# Worker hop
TOOLS_MAX = 128
ACTIVE_LEASE_MS = 60_000
HEARTBEAT_MS = 10_000
POLL_HOLD_S = 20.0               # well under the lease window
INLINE_BYTES_MAX = 65_536        # a receipt's result, reason and facts together; one Board text is no longer
OBJECT_BYTES_MAX = 8 * 2**20     # a result that leaves as an object; stated to the Worker, none is taken yet
OBJECTS_BYTES_MAX = 256 * 2**20
OBJECT_RETENTION_MS = 86_400_000
DROPBOX_FILE_BYTES_MAX = 16 * 2**20   # a snapshot of every call and receipt under way; one call is well under two MiB
DROPBOX_NAMES_MAX = 1_000        # in one folder of a drop box; more is a folder used for something else
DROPBOX_FILES_KEPT = 4           # of a direction: the newest, and some that a torn copy can fall back to
DROPBOX_ROWS_MAX = 256           # members of one list in a drop-box file
DROPBOX_WINDOW_MS = 3 * 86_400_000           # a call that travels by drop box is started within three days or not at all
DROPBOX_WINDOW_MS_MAX = 30 * 86_400_000
DROPBOX_SKEW_S = 600.0           # how far apart the clocks on both sides of a drop box may be
DROPBOX_LOOK_S = 1.0             # between looks into a drop box
DROPBOX_PAUSE_S = 0.2            # at least, however busy its Agent is
ARTIFACTS_KEPT = 256             # references of one Agent; the oldest give way

# Materials
CHUNK_BYTES = 65_536             # one piece of a kept object, checked by a digest of its own
MATERIAL_BYTES_MAX = 8 * 2**20   # one added file
MATERIAL_BODY_BYTES_MAX = 12 * 2**20    # the request that adds one, in base64
MATERIALS_MAX = 2_000            # kept objects of one profile; adding the next is refused
KEPT_BYTES_MAX = 32 * 2**20      # one result that is kept here and told by reference
MATERIAL_NAME_CHARS_MAX = 255
ATTACHMENTS_MAX = 8              # files of one message
WINDOW_CHUNKS_MAX = 17           # of one delivery: 1 MiB that begins inside a chunk
WINDOW_BYTES_MAX = 1 * 2**20     # of one local read
DELIVERY_S = 20.0                # for a Worker to bring the chunks of one read
DELIVERIES_WAITING_MAX = 32      # of one Connection
TICKET_S = 15.0                  # a local read is claimed within this
TICKETS_MAX = 1_024              # unclaimed ones of one gateway

# Agent surface
HOLD_BOUND_S = 50.0
STRIP_ROWS_MAX = 7
VIEW_NODES_WRITE_MAX = 60        # what a write's answer carries
VIEW_BYTES_WRITE_MAX = 8_192
VIEW_NODES_QUERY_MAX = 500

# The person's sign-in
SIGN_IN_FRESH_S = 900.0          # every act of authority needs one this young
SIGN_IN_READ_S = 8 * 3600.0      # a working day of looking; acts ask for the passphrase again
SIGN_INS_MAX = 64                # open at once; the oldest goes first
SIGN_IN_PAUSE_S_MAX = 60.0
GUESSED_NAMES_MAX = 1_024        # names whose wrong tries are remembered
GUESSES_FREE, GUESS_FORGOTTEN_S = 20, 3.0    # over all names: this many at once, and one more each this many seconds
INVITATION_S = 3 * 86_400.0      # a code that was not used by then is worth nothing
PEOPLE_MAX = 200
PASSPHRASE_CHARS_MIN = 8
PASSPHRASE_CHARS_MAX = 1024

# The gateway
DEVICES_MAX = 128                 # computers elsewhere that an owner let in, ended ones among them
DEVICE_IDLE_S = 90 * 86_400      # one that is not seen for so long is signed out
AGENTS_MAX = 64                  # each has a Board in memory; more want more gateways
WORKER_LINES_MAX = 256           # Connections
SOURCES_MAX = 1_000
RELEASES_MAX = 64                # Capabilities in force at once; every Board carries the rules of all of them
PROGRESS_EVERY_S = 5.0           # well inside the clients' shortest call timeout
RETRY_MS = 250                   # the pause we ask of a client whose stream was cut
LOCAL_WAIT_S_MAX = 25.0
OPERATIONS_LISTED_MAX = 50
CASES_LISTED_MAX = 200           # newest first; QueryBoard and the ledger hold the rest
CASE_PAGE_ROWS_MAX = 200
FACT_PAGE_ROWS_MAX = 1_000
MOMENTS_LISTED_MAX = 200         # of one Case, the newest
MOMENT_ROWS_MAX = 50_000         # of an Agent's ledger that are folded again for a moment; some seconds beside the loop
MOMENT_FACTS_MAX = 20_000        # of one Case at one moment

# The workbench
FEED_ROWS_MAX = 2_000            # a day of activity; a page that slept longer reads everything again
FEED_ROWS_KEPT = 1_500           # what stays when it is trimmed, so that trimming is rare
FEED_SIGN_OF_LIFE_S = 10.0       # the page calls 30 s of silence a loss
PROFILES_MAX = 64                # as many as a gateway has Agents
MODELS_LISTED_MAX = 200          # names of a service's models on the page
MODEL_TEST_BYTES_MAX = 1_000_000
RUNS_KEPT = 20                   # finished runs shown per Agent; their Cases stay in the ledger
RUN_STEPS_MAX = 200
RUN_SAID_CHARS_MAX = 8_000       # of a model's words on the page
RUN_SAID_STEP_CHARS = 40         # the page hears of so many new ones at a time
TALK_TURNS_KEPT = 20             # turns of an Agent with their calls; older ones keep the words that were saved
TALK_TURNS_SHOWN = 60            # of one conversation in one answer
TALK_LIST_SHOWN = 50             # conversations of one Agent in one answer
TALK_FOUND_MAX = 50              # places of one search
TALK_SEARCH_TURNS_MAX = 20_000   # looked through by one search, the newest first
TALK_SEARCH_BYTES_MAX = 128 * 2**20
TALK_SEARCH_CHARS_MAX = 200
TALK_FOUND_AROUND_CHARS = 80     # of the text on each side of what was found
DRAFTS_MAX = 200                 # messages begun and not sent, of one Agent
DRAFT_CHARS_MAX = 20_000         # as the page's field
DRAFT_BYTES_MAX = 262_144        # one of them on the disk, every letter of it escaped
TALK_SAID_CHARS_MAX = 100_000    # of a model's words in one turn on the page
SHOWN_TITLE_CHARS_MAX = 120      # of a conversation's first message, as its name
RUN_SERVICE_WORDS_MAX = 24       # sentences about a model service
SHOWN_BYTES_MAX = 32_768         # of one call's input or answer on the page

# The Agent
DRIVER_STEPS_MAX = 200           # Actions one run of the board driver applies
UNREAD_ROWS_MAX = 32             # calls of one conversation whose outcome its model has not read
UNREAD_ALL_MAX = 512             # of all conversations of one Agent
CHANGE_LINES_MAX = 12            # of what changed since a model last looked
CHANGE_CHARS_MAX = 240           # of one such line
SHOWN_FACTS_MAX = 4_000          # things remembered as a model last saw them
REFUSED_ALIKE_MAX = 2            # refusals of the same call for the same reason; a further one ends the turn
RELOAD_WAIT_S = 30.0             # how long a message waits for its Agent's next process
TASK_BODY_BYTES_MAX = 65_536      # one message to `agent --serve`
STOP_BODY_BYTES_MAX = 4_096
COUNCIL_LOOKS_MAX = 8            # looks into folders at one time, a thread each
COUNCIL_LOOKS_KEPT = 5_000       # of each agent in the log; older ones are counted
COUNCIL_REFUSED_LOOKS_KEPT = 2_000
COUNCIL_LOOKS_WAITING_MAX = 32   # behind them, and behind one agent's own
COUNCIL_BODY_BYTES_MAX = 4 * 2**20  # one act of the council: a thread with what it pins
COUNCIL_HOLDS_MAX = 64           # polls, streams and sockets that one agent holds open
COUNCIL_AWAKE_MAX = 32           # agents with a watcher, a process each
COUNCIL_BATCH_MAX = 64           # messages in one array
COUNCIL_SOCKET_IDS_MAX = 1_000   # threads in one frame of the wake socket; the others wait on
COUNCIL_SOCKET_KEY_S = 3_600.0   # how long an open socket goes without a look at its key: far less than one lasts unused
BRIDGE_REQUESTS_MAX = 256        # of one host, unanswered; more are refused
BRIDGE_READ_S = 3_660.0          # the longest wait that the council takes, and a minute
BRIDGE_DRAIN_S = 1.5             # for what a host awaits when it closes stdin: hosts kill after two seconds
COUNCIL_SIGN_S = 15.0            # between signs of life while a call or a stream waits
TASKS_QUEUED_MAX = 1_000          # of all conversations; one runs at a time
ATTACHMENTS_MAX = 8               # of one message
SHOWN_TASK_CHARS_MAX = 8_000      # of a task's text or note in `/runs`; the saved turn holds all of it
ARCHIVED_KEYS_MAX = 10_000        # remembered where conversations are not saved
RESTORED_CHARS_MAX = 24_000       # of an earlier conversation, told to a model once
CHAT_HISTORY_LINES_MAX = 500      # typed lines kept for the arrow keys
SHADOW_FINDINGS_MAX = 3
SHADOW_FINDING_CHARS_MAX = 231
SHADOW_VIEW_CHARS_MAX = 60_000    # of the position a reviewer is shown
HISTORY_FILE_BYTES_MAX = 32 * 2**20      # one saved turn
HISTORY_ACTIVE_TURNS_MAX = 1_000         # in conversations that are not archived
HISTORY_ACTIVE_BYTES_MAX = 256 * 2**20
HISTORY_RESERVED_BYTES = 8 * 2**20       # kept free for each turn that has not ended, so that its end can be saved
PRICE_ROWS_MAX = 1_000           # of a price table
BUDGET_LOCK_WAIT_S = 5.0         # for another run that changes the same budget file, which takes milliseconds
MODEL_HEAD_S = 600.0             # until a model service begins to answer: a slow local model reads a long prompt
MODEL_SILENCE_S = 180.0          # between two pieces of its reply
MODEL_REPLY_S = 1800.0           # for the whole of it, however it drips
MODEL_DEPTH_MAX = 200            # of brackets in what it sends; arguments have the stricter bound of every JSON text
MODEL_REPLY_BYTES_MAX = 8 * 2**20
MODEL_BUSY_TRIES = 3             # how often a service that is too busy is asked again
MODEL_BUSY_WAIT_S = 30.0         # the longest pause it may ask for
MODEL_SERVICES_MAX = 64          # of which habits are remembered
MODEL_HABITS_DAYS = 7            # until a service is tried anew as its dialect says
STORE_WAIT_S = 30.0              # for a gateway that cannot commit: room to free some disk, and no run hangs on it

# The reasoning board
SPACE_NODES_MAX = 200_000        # as many as facts; archived ones count, their ids stay in use
SPACE_OPERATIONS_MAX = 10_000    # one batch of a third-party host, which may bring a whole table
SPACE_LABEL_BYTES_MAX = 4_096    # a label or id
SPACE_TEXT_BYTES_MAX = 65_536    # a summary or reason
SPACE_EVIDENCE_MAX = 10_000      # references of one node
AGGREGATE_GROUPS_MAX = 10_000
AGGREGATES_BATCH_MAX = 500       # of one batch: each waits for those that may feed it
AGGREGATE_MEMBERS_MAX = 400_000  # facts that the aggregates of one batch count, one fact several times over
HINT_WORK_MAX = 50_000           # rules and partial matches that all hints of one read look at, or one "why not"
SPACE_QUESTIONS_MAX = 1_000      # goals and hypotheses: each is judged after every change
EXPLAIN_DEPTH_MAX = 64
EXPLAIN_NODES_MAX = 2_000
ACTION_CANDIDATES_MAX = 10_000   # matches of one action that are counted; more is "at least this many"
PLAN_STEPS_MAX = 256             # steps of one plan
PLAN_DEPTH_MAX, PLAN_BEAM_MAX, REPAIR_DEPTH_MAX = 64, 256, 64    # what a caller may ask for
PLAN_TRIALS_MAX = 10_000         # action applications one search may try
SEARCH_WORK_MAX = 10_000_000     # join steps of one search or solution, what is taken back included: a few seconds
SOLVE_NODES_MAX = 100_000        # attempts of one solution
SOLVE_VARIABLES_MAX = 200        # each is one trial inside the last
SLICE_FACTS, SLICE_FINDINGS = 60, 40
GRAPH_EDGES_MAX = 50_000
WHAT_IF_TRIALS_MAX = 200         # changes that one "what would change it" tries out
WHAT_IF_SET_MAX = 16             # facts retracted together before it gives up

# `rulith board`, the server
SPACES_MAX = 1_000
SPACE_SCOPES_MAX = 64                # names that a Board may be found by
BOARD_MESSAGE_BYTES_MAX = 8 * 2**20  # one message: a batch may bring a whole table
BOARD_SESSIONS_MAX = 1_024           # of HTTP clients that opened by initialize; the longest unused one goes first
BOARD_LISTENS_MAX = 256              # open listen streams
BOARD_CALLS_WAITING_MAX = 256        # unanswered calls of one stdio client; more are refused
BOARD_TEXT_BYTES_MAX = 24_576        # one answer: about 6,000 tokens
BOARD_ANSWER_S = 10.0                # a call that takes longer gets signs of life on an event stream
TASK_LEAVES_MAX = 200                # of one declared task
PROGRAM_BYTES_MAX = 64 * 2**20        # one program file

# The watcher
WATCH_WAIT_S_MAX = 3_600             # of one poll, as the council takes it
WATCH_LIMIT_S_MAX = 86_400.0         # of one run
WATCH_CEILING_MAX = 10_000           # starts in an hour, as a setting
WATCH_STARTS_MAX = 10_000            # kept in a file
WATCH_THREADS_MAX = 50               # told to one run; the others are the next run's
WATCH_PENDING_MAX = 1_000            # threads that wait for a run
WATCH_KINDS_MAX = 1_000              # what happened in them
WATCH_ANSWER_BYTES_MAX = 4 * 2**20   # a hundred events, or whoami
WATCH_OUTPUT_BYTES_MAX = 262_144      # of one run into a log

# Capabilities drafted from documents
DOCUMENT_BYTES_MAX = 256 * 1024
DOCUMENT_BODY_BYTES_MAX = 512 * 1024     # the request that brings one, in base64
CITATIONS_MAX = 1_000
DRAFT_TEXTS_MAX = 100                    # questions, or notes
DRAFT_TEXT_CHARS_MAX = 2_000             # of one of them, or of a quote
DRAFT_ANSWERS_BYTES_MAX = 32 * 1024      # a person's answers to its questions
DRAFT_BYTES_AT_MOST = 512 * 1024         # what a model may hand over as one draft
DRAFT_ROUNDS_DEFAULT, DRAFT_ROUNDS_MAX = 6, 12
DRAFT_CHECK_S = 150.0
DRAFT_JOB_S = 3_600.0
DRAFT_JOBS_MAX = 64                      # kept of one Agent

# The page's settings
LOG_TAIL_BYTES = 65_536
LOG_NAMES_MAX = 200
DOCTOR_S, BACKUP_VERB_S = 660.0, 3_660.0      # a little over what the verbs wait themselves

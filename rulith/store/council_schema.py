"""The council's tables, and the numbered steps that lead to them. Steps are never changed once released."""

from __future__ import annotations

APPLICATION_ID = 0x726C7463           # "rltc", in the file's header

_TABLES = (
    """CREATE TABLE project (
         id INTEGER PRIMARY KEY, name TEXT NOT NULL, folder_path TEXT NOT NULL UNIQUE, git_remote TEXT, color TEXT NOT NULL DEFAULT '',
         created_at TEXT NOT NULL) STRICT""",
    """CREATE TABLE profile (
         id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, label TEXT NOT NULL, icon TEXT NOT NULL DEFAULT '', launch_cmd TEXT NOT NULL DEFAULT '',
         launch_args TEXT NOT NULL DEFAULT '[]', mcp_install_mode TEXT NOT NULL CHECK (mcp_install_mode IN ('config_file_flag', 'env', 'none')),
         notes TEXT NOT NULL DEFAULT '', builtin INTEGER NOT NULL DEFAULT 0 CHECK (builtin IN (0, 1))) STRICT""",
    # Ids are given once: a credential pinned to one would otherwise open the next.
    """CREATE TABLE agent (
         id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE, name TEXT NOT NULL,
         role TEXT NOT NULL CHECK (role IN ('HUMAN', 'ASSISTANT', 'CODER')), profile_id INTEGER REFERENCES profile ON DELETE SET NULL,
         key_id TEXT NOT NULL UNIQUE, key_hash TEXT NOT NULL, key_preview TEXT NOT NULL, awake INTEGER NOT NULL DEFAULT 0 CHECK (awake IN (0, 1)),
         system_note TEXT NOT NULL DEFAULT '', color TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL, revoked_at TEXT,
         UNIQUE (project_id, name)) STRICT""",
    """CREATE TABLE room (
         id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE, name TEXT NOT NULL, purpose TEXT NOT NULL DEFAULT '',
         paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)), max_replies_per_agent INTEGER NOT NULL DEFAULT 6,
         max_thread_messages INTEGER NOT NULL DEFAULT 60, cost_cap_usd REAL NOT NULL DEFAULT 5.0, response_timeout_secs INTEGER NOT NULL DEFAULT 300,
         claim_window_secs INTEGER NOT NULL DEFAULT 120, created_at TEXT NOT NULL, UNIQUE (project_id, name)) STRICT""",
    """CREATE TABLE room_member (
         room_id INTEGER NOT NULL REFERENCES room ON DELETE CASCADE, agent_id INTEGER NOT NULL REFERENCES agent ON DELETE CASCADE,
         PRIMARY KEY (room_id, agent_id)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX member_agent ON room_member (agent_id)",
    """CREATE TABLE tag (
         key TEXT PRIMARY KEY, label TEXT NOT NULL, color TEXT NOT NULL, instruction TEXT NOT NULL, verdict_options TEXT NOT NULL,
         expects_replies INTEGER NOT NULL, sort INTEGER NOT NULL, builtin INTEGER NOT NULL DEFAULT 0) STRICT""",
    """CREATE TABLE thread (
         id INTEGER PRIMARY KEY AUTOINCREMENT, room_id INTEGER NOT NULL REFERENCES room ON DELETE CASCADE,
         author_agent_id INTEGER NOT NULL REFERENCES agent, title TEXT NOT NULL, body TEXT NOT NULL, tag TEXT NOT NULL,
         status TEXT NOT NULL CHECK (status IN ('OPEN', 'BLOCKED', 'RESOLVED', 'WONTFIX')), git_ref TEXT, git_dirty INTEGER NOT NULL DEFAULT 0,
         blind INTEGER NOT NULL DEFAULT 0, resolution_summary TEXT, settled_verdict TEXT, export_path TEXT, record_digest TEXT,
         resolved_by INTEGER REFERENCES agent, case_id TEXT, root TEXT, operation TEXT, client_ref TEXT,
         created_at TEXT NOT NULL, updated_at TEXT NOT NULL, resolved_at TEXT) STRICT""",
    "CREATE INDEX thread_room ON thread (room_id, status)",
    "CREATE UNIQUE INDEX thread_client_ref ON thread (author_agent_id, client_ref) WHERE client_ref IS NOT NULL",
    """CREATE TABLE thread_context (
         id INTEGER PRIMARY KEY, thread_id INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE, kind TEXT NOT NULL CHECK (kind IN ('file', 'diff', 'note')),
         path TEXT, start_line INTEGER, end_line INTEGER, content TEXT NOT NULL) STRICT""",
    "CREATE INDEX context_thread ON thread_context (thread_id)",
    """CREATE TABLE thread_mention (
         thread_id INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE, agent_id INTEGER NOT NULL REFERENCES agent ON DELETE CASCADE,
         PRIMARY KEY (thread_id, agent_id)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX mention_agent ON thread_mention (agent_id)",
    """CREATE TABLE thread_claim (
         thread_id INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE, agent_id INTEGER NOT NULL REFERENCES agent ON DELETE CASCADE,
         note TEXT NOT NULL, claimed_at TEXT NOT NULL, PRIMARY KEY (thread_id, agent_id)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE message (
         id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE,
         agent_id INTEGER NOT NULL REFERENCES agent, body TEXT NOT NULL, verdict TEXT, severity TEXT, refs TEXT NOT NULL DEFAULT '[]',
         tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0,
         supervised INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, edited_at TEXT) STRICT""",
    "CREATE INDEX message_thread ON message (thread_id)",
    """CREATE TABLE event (
         seq INTEGER PRIMARY KEY AUTOINCREMENT, room_id INTEGER, thread_id INTEGER, kind TEXT NOT NULL, actor_agent_id INTEGER, payload TEXT NOT NULL,
         created_at TEXT NOT NULL) STRICT""",
    """CREATE TABLE file_access (
         id INTEGER PRIMARY KEY, agent_id INTEGER NOT NULL REFERENCES agent ON DELETE CASCADE, thread_id INTEGER, act TEXT NOT NULL, path TEXT NOT NULL,
         allowed INTEGER NOT NULL, reason TEXT NOT NULL, created_at TEXT NOT NULL) STRICT""",
)

_LOOKS = (
    "CREATE INDEX access_agent ON file_access (agent_id, allowed, id)",
    """CREATE TABLE file_access_dropped (
         agent_id INTEGER NOT NULL REFERENCES agent ON DELETE CASCADE, allowed INTEGER NOT NULL, count INTEGER NOT NULL, newest_at TEXT NOT NULL,
         PRIMARY KEY (agent_id, allowed)) STRICT, WITHOUT ROWID""",
)

# number, name, statements
MIGRATIONS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (1, "projects, rooms, threads", _TABLES),
    (2, "looks that were let go", _LOOKS),
    (3, "threads that the council's own runs opened", ("ALTER TABLE thread ADD COLUMN supervised INTEGER NOT NULL DEFAULT 0",)),
    (4, "what each room has spent", (
        "ALTER TABLE room ADD COLUMN spent_usd REAL NOT NULL DEFAULT 0",
        "UPDATE room SET spent_usd = (SELECT coalesce(sum(m.cost_usd), 0) FROM message m JOIN thread t ON t.id = m.thread_id WHERE t.room_id = room.id)")),
)
NEWEST = MIGRATIONS[-1][0]

# The index of words is made anew whenever it is not there, so a Python whose SQLite has no FTS5 reads the same file.
WORDS = "CREATE VIRTUAL TABLE words USING fts5 (kind UNINDEXED, ref_id UNINDEXED, thread_id UNINDEXED, room_id UNINDEXED, text)"

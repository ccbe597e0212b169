"""Sans-IO model dialects: Anthropic Messages, OpenAI Chat Completions, emulated tools."""

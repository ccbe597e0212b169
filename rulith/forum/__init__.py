"""The council on the wire: one door for every act, whoever asks.

    forum.py     `Forum`: who acts, what is there, what happens next; joins the parts below
    house.py     the person's acts: projects, rooms, agents, keys
    threads.py   opening, arguing, resolving
    reading.py   lists, transcripts, search
    waiting.py   events to those who wait, and whom they wake
    presence.py  who is there
    api.py       the person's acts over HTTP
    service.py   all of it on one port of this machine

MCP, the person's API and the supervisor all come through `Forum.run`, so their rules cannot differ.
"""

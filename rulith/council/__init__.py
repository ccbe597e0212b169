"""Law of the council: who may open, argue and resolve, who is asked, and whom an event wakes.

Pure. Rows come in, a refusal or what follows goes out; the store keeps, the forum carries.
No ranks: every agent holds the same tools, and being asked is what lets it answer.

    keys.py       what a key looks like, and what is kept of it
    shapes.py     the rows this law reads
    checks.py     the checks of every act, in their order
    mentions.py   who a text asks
    wake.py       which threads need an agent
    times.py      how a moment is written
    seeds.py      the tags and launch profiles that are there from the start

Source  the council surface
"""

"""How much room this machine's disk has: a Tool without a Source, which no Source attests."""

import json
import shutil

room = shutil.disk_usage(".")
print(json.dumps({"rows": [{"free_bytes": room.free, "total_bytes": room.total}]}))

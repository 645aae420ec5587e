#!/usr/bin/env bash
# aiolimiter 1.3.0: how many entries does AsyncLimiter(10, 1) admit within one second?
#
# Guess: at most 10 in any second, as a server that counts 10 requests a second allows.
# Behaviour: nearly twice as many. The bucket is empty at first, so that 10 enter at once, and leaks
# steadily meanwhile, so that nine or ten more enter before the first second is over. A quota of a
# server for a fixed or a sliding window is exceeded until the burst is a window old.
# Source: aiolimiter/leakybucket.py ("up to `max_rate` acquisitions are allowed within this time
# period in a burst"); the capacity leaks at max_rate / time_period from the first moment.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check aiolimiter==1.3.0
cat > "$folder/try.py" <<'PY'
import asyncio

from aiolimiter import AsyncLimiter


async def main() -> None:
    limiter, loop = AsyncLimiter(10, 1), asyncio.get_running_loop()
    entered = []
    for _ in range(40):
        async with limiter:
            entered.append(loop.time())
    at_once = sum(t - entered[0] < 0.05 for t in entered)
    first_second = sum(t - entered[0] < 1.0 for t in entered)
    later = [sum(s <= t < s + 1.0 for t in entered) for s in entered[15:25]]
    print("at once", at_once)
    print("in the first second more than 15:", first_second > 15)
    print("in a later second at most 11:", max(later) <= 11)


asyncio.run(main())
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
at once 10
in the first second more than 15: True
in a later second at most 11: True
SEEN
echo "as described"

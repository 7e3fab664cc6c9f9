"""How a program of the client matrix finds its checks, runs them and says what became of them.

One line a check on standard output: `ok NAME`, `FAIL NAME reason` or `skip NAME reason`.
tests/clients/README.md has the environment that a program is given.
"""

import os
import sys
import threading
import traceback

HOST = os.environ.get("PM_HOST", "127.0.0.1")
PORT = int(os.environ["PM_PORT"])
USER = os.environ["PM_USER"]
PASSWORD = os.environ["PM_PASSWORD"]
DATABASE = os.environ["PM_DATABASE"]
SERVER = os.environ["PM_SERVER"]
LOGINS = [name for name in os.environ.get("PM_LOGINS", "").split(",") if name]
LOGIN_PASSWORD = os.environ.get("PM_LOGIN_PASSWORD", "")
CA = os.environ.get("PM_CA", "")
FULL = os.environ.get("PM_SIZE", "full") == "full"
ONLY = [name for name in os.environ.get("PM_ONLY", "").split(",") if name]

# No check may take longer: a hang has to be told from a slow machine, and has to end.
CHECK_SECONDS_MAX = 120

# Where a codec of the protocol has its edges.
SIZES = [0, 1, 1 << 14, (1 << 24) - 1, 1 << 24, (1 << 24) + 1] if FULL else [0, 1, 1 << 14, 1 << 20]
BIG_ROWS = 200_000 if FULL else 20_000
BIG_ROW_BYTES = 500


class Skip(Exception):
    """Raised by a check that this driver or this server cannot be asked for."""


def run(checks):
    """Runs pairs of a name and a function; returns the exit code of the program."""
    failed = False
    for name, function in checks:
        if ONLY and not any(name == only or (only.endswith("*") and name.startswith(only[:-1])) for only in ONLY):
            continue
        outcome = with_deadline(function)
        failed |= outcome.startswith("FAIL")
        word, _, reason = outcome.partition(" ")
        print(f"{word} {name} {reason}".rstrip(), flush=True)
    return 1 if failed else 0


def with_deadline(function):
    """What a check came to, as the line says it but for the name."""
    outcome = []
    # A daemon, so that a check that hangs does not keep the program from its end.
    thread = threading.Thread(target=lambda: outcome.append(attempt(function)), daemon=True)
    thread.start()
    thread.join(CHECK_SECONDS_MAX)
    return outcome[0] if outcome else f"FAIL no end after {CHECK_SECONDS_MAX} s"


def attempt(function):
    try:
        function()
    except Skip as reason:
        return f"skip {reason}"
    except Exception as error:  # whatever a driver throws is a result here
        if os.environ.get("PM_TRACE"):
            traceback.print_exc(file=sys.stderr)
        return "FAIL " + " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return "ok"


def equal(got, expected):
    """Both must be the same; long values are cut in the message."""
    if got != expected:
        raise AssertionError(f"got {got!r:.120}, expected {expected!r:.120}")

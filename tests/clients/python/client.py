"""Runs the checks with the driver that the first argument names."""

import os
import sys

import checks
import drivers
import report

DRIVERS = {
    "pymysql": drivers.PyMySQL,
    "mysqlclient": drivers.Mysqlclient,
    "connector-python": drivers.Connector,
}

if __name__ == "__main__":
    code = report.run(checks.Checks(DRIVERS[sys.argv[1]]()).all())
    sys.stdout.flush()
    # Threads of checks that hang would keep an ordinary exit waiting.
    os._exit(code)

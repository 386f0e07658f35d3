#!/usr/bin/env bash
# Does a GPU compute what a CPU does, and how fast does it train? In under five minutes, on a machine that has Python and
# torch, with nothing installed and nothing left behind. See gpu.py; PYTHON names another interpreter than python3.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" bench/gpu.py "$@"

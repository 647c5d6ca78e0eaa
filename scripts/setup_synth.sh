#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what synthesis needs, requirements-synth.txt, into a .venv that scripts/setup_venv.sh has made. The stamp
# .venv/.synth is written last.
set -eu
cd "$(dirname "$0")/.."

LOG=.venv/synth.log
python=.venv/bin/python

exec 9>.venv/.lock  # one set-up at a time
"$python" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX)"
echo "eyrie: installing yosys and nextpnr into .venv (once, a minute)"
if ! "$python" -m pip install --disable-pip-version-check --progress-bar off -r requirements-synth.txt >$LOG 2>&1; then
  echo "eyrie: synthesis tools cannot be installed ($(grep -m 1 ERROR $LOG | cut -c -200)): see $LOG" >&2
  exit 1
fi
touch .venv/.synth

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs an optional part into a .venv that scripts/setup_venv.sh has made.
#
#   scripts/setup_extra.sh NAME       installs requirements-NAME.txt
#
# What requirements.txt pins stays as it is. The stamp .venv/.NAME is written last.
set -eu
cd "$(dirname "$0")/.."

NAME=$1
LIST=requirements-$NAME.txt
LOG=.venv/$NAME.log
python=.venv/bin/python

exec 9>.venv/.lock  # one set-up at a time
"$python" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX)"
packages=$(sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' "$LIST" | paste -s -d ' ' -)
echo "eyrie: installing $packages into .venv (once, a minute)"
if ! "$python" -m pip install --disable-pip-version-check --progress-bar off -c requirements.txt -r "$LIST" \
  >"$LOG" 2>&1; then
  echo "eyrie: $NAME cannot be installed ($(grep -m 1 ERROR "$LOG" | cut -c -200)): see $LOG" >&2
  exit 1
fi
touch ".venv/.$NAME"

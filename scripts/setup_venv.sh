#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Creates .venv and installs a group of packages into it, at the versions of requirements.txt.
#
#   scripts/setup_venv.sh base        compile and run a model, with python3 or the interpreter that PYTHON names
#   scripts/setup_venv.sh GROUP       also the packages of an extra of pyproject.toml: cluster, dev, docs, explore, onnx, pytorch, quantize, synth, trace, tvm
#
# The stamp .venv/.GROUP is written last: an interrupted set-up never looks finished, and the next one repairs it.
set -eu
cd "$(dirname "$0")/.."

GROUP=$1
PYTHON=${PYTHON:-python3}
VENV=.venv
LOG=$VENV/$GROUP.log
CPU_INDEX=https://download.pytorch.org/whl/cpu  # PyPI's PyTorch for Linux carries CUDA
REPORT_S=10  # seconds between two lines of progress

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

# Loads libpython as the simulator does; a statically built Python has none.
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

# ---- Environment ----

# An environment that belongs to another project stays unchanged.
[ ! -L $VENV ] || fail "$VENV is a link to what is not set up for this project: remove the link"

# One set-up at a time: a second one waits and finds the work done. Child processes hold the lock, too: pip runs on for
# a while after this script is killed.
mkdir -p $VENV
exec 9>$VENV/.lock
if ! "$PYTHON" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)" 2>/dev/null; then
  echo "eyrie: waiting for another set-up of $VENV"
  "$PYTHON" -c "import fcntl; fcntl.flock(9, fcntl.LOCK_EX)"
fi
if [ -z "$(find pyproject.toml requirements.txt scripts/setup_venv.sh -newer "$VENV/.$GROUP" 2>&1)" ]; then
  exit 0  # the other set-up has done it
fi

rm -f "$VENV/.$GROUP"
python=$VENV/bin/python
if [ "$GROUP" = base ]; then
  echo "eyrie: setting up $VENV with $("$PYTHON" --version) (once, about a minute)"
  "$PYTHON" -m venv $VENV
  # The package is a link, so that .venv works wherever the checkout is moved or copied to.
  packages_folder=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  link=$("$python" -c 'import os, sys; print(os.path.relpath("eyrie", sys.argv[1]))' "$packages_folder")
  ln -sfn "$link" "$packages_folder/eyrie"
  cat >$VENV/bin/eyrie <<'SCRIPT'
#!/bin/sh
# Written by scripts/setup_venv.sh: the command line.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done
exec "$(dirname "$self")/python" -P -m eyrie "$@"
SCRIPT
  chmod +x $VENV/bin/eyrie
else
  echo "eyrie: installing the packages of $GROUP into $VENV (once, a minute or more)"
fi

# ---- Packages ----

"$python" - "$GROUP" >"$VENV/$GROUP.in" <<'SCRIPT'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
groups = {"base": project["dependencies"], **project["optional-dependencies"]}
def lines(group):
    for line in groups[group]:
        if line.startswith(f"{project['name']}["):
            yield from lines(line.partition("[")[2].rstrip("]"))
        else:
            yield line
print(*lines(sys.argv[1]), sep="\n")
SCRIPT

cpu_index=""
if grep -q '^torch>' "$VENV/$GROUP.in" && [ "$(uname -s)" = Linux ] &&
  ! "$python" -c 'import importlib.metadata as packages; packages.version("torch")' 2>/dev/null; then
  if "$python" -c "import urllib.request as r; r.urlopen('$CPU_INDEX/torch/', timeout=3)" 2>/dev/null; then
    cpu_index="--extra-index-url $CPU_INDEX"
  else
    echo "eyrie: cannot reach the index of PyTorch's CPU builds: pip may fetch 4 GB of CUDA libraries with PyTorch"
  fi
fi

# The last line of pip's log is shown while it works.
# shellcheck disable=SC2086  # cpu_index is two words, or none
"$python" -m pip install --disable-pip-version-check --progress-bar off $cpu_index \
  -c requirements.txt -r "$VENV/$GROUP.in" >"$LOG" 2>&1 &
pip=$!
trap 'kill $pip 2>/dev/null; exit 130' INT TERM HUP
seconds=0
while kill -0 $pip 2>/dev/null; do
  sleep 1
  seconds=$((seconds + 1))
  [ $((seconds % REPORT_S)) -ne 0 ] || echo "eyrie: set-up, $seconds s: $(tail -n 1 "$LOG" | cut -c -100)"
done
wait $pip || fail "packages cannot be installed ($(grep -m 1 ERROR "$LOG" | cut -c -200)): see $LOG"
trap - INT TERM HUP

touch "$VENV/.$GROUP"

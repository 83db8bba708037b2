# Sourced by the other scripts: makes .venv with the pinned versions, once.
# shellcheck shell=bash

# Prints a Python that simple_tf runs on; $PYTHON, if set, is the only candidate.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.10 python3 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' \
        2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "simple_tf needs Python 3.10 or 3.11; found neither. Install one, or set PYTHON=/path/to/it." >&2
  return 1
}

# ensure_environment [EXTRAS]: after this, .venv/bin/python has simple_tf and its dependencies.
# A stamp that depends on everything that decides the result makes later calls instant.
ensure_environment() {
  local extras="${1:-}" python version stamp
  if [ ! -x .venv/bin/python ]; then
    python=$(find_python) || return 1
    echo "Making .venv with $("$python" --version)." >&2
    # A machine whose own TensorFlow is to be used says --system-site-packages here.
    if ! "$python" -m venv ${SIMPLE_TF_VENV_OPTIONS:+"$SIMPLE_TF_VENV_OPTIONS"} .venv; then
      # Half of it is there: a later call would take it for a whole one.
      rm -rf .venv
      echo "Could not make .venv. On Debian and Ubuntu install python3-venv first." >&2
      return 1
    fi
  fi
  version=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return 1
  stamp=".venv/installed-$({ cat setup.py "launch/constraints-$version.txt"; echo "$extras $PWD"; } \
    | .venv/bin/python -c 'import hashlib, sys
print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:16])')"
  if [ -e "$stamp" ]; then
    return
  fi
  if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "$PWD/.venv has no pip, so that nothing can be installed there. Remove it and start again." >&2
    return 1
  fi
  echo "Installing simple_tf${extras:+ with the extras $extras} into .venv. The first time this" \
    "downloads TensorFlow and its companions (1.9 GB installed) and takes a few minutes." >&2
  local quiet=()
  [ -t 2 ] || quiet=(--quiet)
  .venv/bin/python -m pip install --disable-pip-version-check ${quiet[@]+"${quiet[@]}"} \
    --constraint "launch/constraints-$version.txt" --editable ".${extras:+[$extras]}" >&2 || return 1
  touch "$stamp"
}

# use_environment [EXTRAS]: after this, $SIMPLE_TF_PYTHON has simple_tf. Set it beforehand to use an
# environment of your own (a container's, a cluster's module); nothing is installed then.
use_environment() {
  if [ -z "${SIMPLE_TF_PYTHON:-}" ]; then
    if [ -n "${dry_run:-}" ]; then
      borrow_environment "${1:-}"
    else
      ensure_environment "${1:-}" || return 1
      SIMPLE_TF_PYTHON="$PWD/.venv/bin/python"
    fi
  fi
  export SIMPLE_TF_PYTHON
}

# borrow_environment [EXTRAS]: the same for a dry run, which installs nothing and leaves nothing: any
# Python will do that has the dependencies. One without them can read a sweep, but not check it; sets
# $unchecked then. Without any there is nothing more to show, and the script ends. Sets $later_python
# to the Python that would be used.
borrow_environment() {
  local candidate
  echo "would make .venv and install simple_tf${1:+ with the extras $1} there, unless that is done" >&2
  later_python="$PWD/.venv/bin/python"
  export PYTHONDONTWRITEBYTECODE=1
  for candidate in "$later_python" ${PYTHON:-python3.11 python3.10 python3 python}; do
    if "$candidate" -c 'import importlib.util as util, sys
sys.exit(not all(map(util.find_spec, ("absl", "gin", "tensorflow", "tf_agents", "ale_py"))))' \
        2>/dev/null; then
      SIMPLE_TF_PYTHON=$(command -v "$candidate")
      return
    fi
  done
  # shellcheck disable=SC2034 # Read in launch/sweep_tasks.sh.
  unchecked=1
  candidate=$(find_python) || exit 0
  SIMPLE_TF_PYTHON=$(command -v "$candidate")
}

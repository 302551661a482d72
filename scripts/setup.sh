#!/bin/sh
# Makes .venv and installs posenc in it, torch first, with the extras named (default: test).
#
#   sh scripts/setup.sh [EXTRA ...]
#
#   PYTHON=...       the Python to start from (default: python3)
#   UV=0             take venv and pip even where uv is installed
#   TORCH_INDEX=...  an index to take torch from, where pip's own would bring the wrong build
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
stop() { printf 'setup: %s\n' "$*" >&2; exit 1; }

[ $# -gt 0 ] || set -- test
for extra in "$@"; do
    grep -q "^$extra = \[" pyproject.toml || stop "got extra '$extra', but wanted one that pyproject.toml names."
done
extras=$(IFS=,; echo "$*")
python=.venv/bin/python

# Nothing to do when nothing that decides the outcome has changed; moving the checkout is a change.
stamp=.venv/.setup-$extras
key="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $(pwd)"
there='import importlib.util as u, sys; sys.exit(None in map(u.find_spec, ("torch", "posenc")))'
if [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$key" ] && "$python" -c "$there" 2>/dev/null; then
    tail -n 1 "$stamp"
    exit 0
fi

lowest=$(sed -n 's/.*"torch>=\([0-9]*\)\.\([0-9]*\)".*/(\1, \2)/p' pyproject.toml)
has_torch() {
    "$1" -c "
import importlib.metadata as m, sys
sys.exit((*map(int, m.version('torch').split('.')[:2]),) < $lowest)" 2>/dev/null
}

with=pip
if [ "${UV:-1}" != 0 ] && command -v uv >/dev/null 2>&1; then with=uv; fi

if ! [ -e .venv ]; then
    base=$(command -v "${PYTHON:-python3}") || base=
    if [ -n "$base" ] && ! "$base" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        [ "$with" = uv ] && [ -z "${PYTHON:-}" ] ||
            stop "got $("$base" -V), but wanted 3.11 or newer; name one, as in PYTHON=python3.12."
        base=
    fi
    site=
    # uv looks past the packages below a .venv, so a torch that lies there is kept by pip alone.
    if [ -n "$base" ] && has_torch "$base"; then with=pip site=--system-site-packages; fi
    say "making .venv with $with"
    if [ "$with" = uv ]; then
        uv venv -q --seed ${base:+--python "$base"} .venv
    else
        [ -n "$base" ] || stop "found no ${PYTHON:-python3}; install Python 3.11 or newer, or uv, and run this again."
        "$base" -c 'import ensurepip, venv' 2>/dev/null ||
            stop "$base has no venv module; install it (Debian and Ubuntu: apt-get install python3-venv), or uv, and run this again."
        "$base" -m venv $site .venv
    fi
fi
"$python" -c '' 2>/dev/null || stop "the Python in .venv does not run; remove .venv and run this again."
if grep -qi '^include-system-site-packages = true' .venv/pyvenv.cfg; then with=pip; fi
if [ "$with" = pip ] && ! "$python" -m pip --version >/dev/null 2>&1; then "$python" -m ensurepip >/dev/null; fi

install() {
    if [ "$with" = uv ]; then uv pip install --python "$python" "$@"; else "$python" -m pip install "$@"; fi
}

if [ "$with" = uv ] && [ -z "${UV_FIND_LINKS:-}" ]; then
    # uv does not read pip's settings, so a folder of wheels that pip knows is handed over.
    UV_FIND_LINKS=${PIP_FIND_LINKS:-$("$python" -m pip config get global.find-links 2>/dev/null || :)}
    UV_FIND_LINKS=$(printf '%s' "$UV_FIND_LINKS" | tr -s '[:space:]' ',')
    export UV_FIND_LINKS
fi

# torch comes first and alone: left to a range, the newest release and its CUDA build would be drawn in.
if ! has_torch "$python"; then
    torch=$(grep '^torch==' constraints.txt)
    say "installing $torch"
    if install -q --no-index --no-deps "$torch" >/dev/null 2>&1; then
        :
    elif [ -n "${TORCH_INDEX:-}" ]; then
        install --no-deps --index-url "$TORCH_INDEX" "$torch"
    elif [ "$with" = uv ] && install --no-deps --torch-backend=auto "$torch"; then
        :
    else
        [ "$(uname -s)" != Linux ] || command -v nvidia-smi >/dev/null 2>&1 ||
            say "this can be a CUDA build of some GB; CONTRIBUTING.md says how TORCH_INDEX gets a small one"
        install --no-deps "$torch"
    fi
fi

# A torch that was there already stays, whatever version is pinned.
"$python" -c 'import importlib.metadata as m; print("torch==" + m.version("torch"))' >.venv/constraints.txt
grep -v '^torch==' constraints.txt >>.venv/constraints.txt
say "installing posenc[$extras] beside $(head -n 1 .venv/constraints.txt)"
install -q -c .venv/constraints.txt -e ".[$extras]"

check='
import posenc, torch
y = posenc.PositionalEncoding(8).eval()(torch.zeros(1, 4, 8))
print(f"posenc {posenc.__version__} is ready in .venv: torch {torch.__version__}, PE(1, 0) = {y[0, 1, 0]:.7f}")'
line=$("$python" -c "$check") || stop "installed, but one forward pass failed; the error is above."
printf '%s\n' "$key" "$line" >"$stamp"
echo "$line"

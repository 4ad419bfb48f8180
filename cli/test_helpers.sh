# shellcheck shell=bash
# cli/test_helpers.sh: what the tests of the command line share. A test sources it with the program
# as its argument, and ends with `report NAME`. It works in a folder of its own.
set -uo pipefail
catamaran=$(realpath "${1:?usage: TEST PROGRAM}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export NO_COLOR=1
failures=0
checks=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$1"
  shift
  [ $# -eq 0 ] || printf '%s\n' "$@"
}

# run CODE ARGUMENT...: runs the program; out and err hold what it wrote.
run() {
  local wanted=$1 code
  shift
  timeout 60 "$catamaran" "$@" >out.txt 2>err.txt
  code=$?
  out=$(cat out.txt) err=$(cat err.txt)
  checks=$((checks + 1))
  [ "$code" = "$wanted" ] || fail "exit code $code, wanted $wanted: catamaran $*" "$out" "$err"
}
is() {  # what it is about, found, wanted
  checks=$((checks + 1))
  [ "$2" = "$3" ] || fail "$1" "--- found:" "$2" "--- wanted:" "$3"
}
has() {  # what it is about, text, part
  checks=$((checks + 1))
  [[ $2 == *"$3"* ]] || fail "$1" "--- found:" "$2" "--- wanted in it:" "$3"
}

# npy FILE DESCR SHAPE HEX...: a version 1 .npy file.
npy() {
  local file=$1 header
  header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
  shift 3
  header=$(printf '%-117s' "$header")
  { printf '\x93NUMPY\x01\x00\x76\x00%s\n' "$header"; printf "$(printf '\\x%s' "$@")"; } >"$file"
}

report() {  # name
  echo "$1: $checks checks, $failures failed"
  [ "$failures" = 0 ]
}

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

# write_taste: taste.ctm, a model that can be served and learns from one example.
write_taste() {
cat >taste.ctm <<'EOF'
program taste
param @item : f32[10, 2] = normal(std=1.0)
fn infer(user: f32[B, 2], item: i64[B]) -> (p: f32[B]) {
  return sigmoid(sum(embedding(@item, item) * user, axes=[1]))
}
fn loss(user: f32[B, 2], item: i64[B], label: f32[B]) -> f32[] {
  return mean(binary_cross_entropy(infer(user, item), label))
}
train = sgd(grad(loss), lr=1.0)
EOF
}

# await_service PID: until the service says in serve.txt that it is ready; a minute at most, and no
# longer than it lives. Whoever starts it empties serve.txt before: one that was there was ready too.
# It is killed when the test ends.
await_service() {
  trap "kill -9 $1 2>/dev/null; rm -rf '$work'" EXIT
  for _ in $(seq 600); do
    grep -q '^ready' serve.txt && return
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  fail 'the service did not start' "$(cat serve.txt serve_err.txt 2>/dev/null)"
}

report() {  # name
  echo "$1: $checks checks, $failures failed"
  [ "$failures" = 0 ]
}

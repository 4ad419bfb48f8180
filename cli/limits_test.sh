#!/usr/bin/env bash
# cli/limits_test.sh CATAMARAN [every]: runs commands where memory, threads, descriptors and file sizes
# are limited. However narrow a limit is, a run ends by itself, with exit status 0 to 3, and says why
# when it is not 0. `every` takes many more rungs of each ladder.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/test_helpers.sh"
every=${2:-}
ulimit -c 0

cat >wide.ctm <<'X'
program wide
table @rows : u64 -> f32[64] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
}
param @w : f32[64, 1] = normal(std=0.1)
fn infer(id: u64[B]) -> f32[B] {
  return sigmoid(reshape(matmul(lookup(@rows, id), @w), [B]))
}
fn loss(id: u64[B], label: f32[B]) -> f32[] {
  return mean(binary_cross_entropy(infer(id), label))
}
train = adam(grad(loss), lr=0.001)
X
awk 'BEGIN { print "id,label"; for (i = 0; i < 200000; ++i) print i * 7919 % 1000003 "," (i % 3 == 0) }' >wide.csv
head -2001 wide.csv >few.csv
write_taste

# The processes of the ladder of `ulimit -u` belong to this user, who has no other: root has no limit.
readonly nobody=61234
as_nobody=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  as_nobody=(setpriv --reuid=$nobody --regid=$nobody --clear-groups)
  chmod 777 .
fi

# ended CODE WHAT: how a run may end; out.txt and err.txt hold what it wrote.
ended() {
  local code=$1 what=$2
  checks=$((checks + 1))
  if [ "$code" = 127 ] && grep -q 'while loading shared libraries' err.txt; then
    return  # the system could not even start the program
  fi
  case $code in
    0) ;;
    1 | 2 | 3) [ -s err.txt ] || fail "$what: exit status $code without a word" ;;
    124 | 137) fail "$what: does not end" "$(cat err.txt)" ;;
    *) fail "$what: exit status $code" "$(cat err.txt)" ;;
  esac
  if grep -qE 'terminate called|assertion failed|internal error' err.txt; then
    fail "$what: ends with a bug's message" "$(cat err.txt)"
  fi
}

# limited LIMIT ARGUMENT...: a command under `ulimit LIMIT`, which has 20 seconds. The status is in `code`.
limited() {
  local limit=$1
  shift
  rm -rf out
  (
    # shellcheck disable=SC2086  # an option and its value
    ulimit $limit
    local as=()
    [[ $limit == -u* ]] && as=("${as_nobody[@]}")
    exec timeout -k 1 20 "${as[@]}" "$catamaran" "$@"
  ) >out.txt 2>err.txt
  code=$?
  ended "$code" "ulimit $limit: catamaran $*"
}

# served LIMIT ARGUMENT...: a service under `ulimit LIMIT`. If it becomes ready it is asked to end.
served() {
  local limit=$1 service
  shift
  rm -rf data
  : >out.txt
  (
    # shellcheck disable=SC2086
    ulimit $limit
    local as=()
    [[ $limit == -u* ]] && as=("${as_nobody[@]}")
    exec "${as[@]}" "$catamaran" serve taste.ctm --http 127.0.0.1:0 --grpc 127.0.0.1:0 "$@"
  ) >out.txt 2>err.txt &
  service=$!
  trap "kill -9 $service 2>/dev/null; rm -rf '$work'" EXIT
  for _ in $(seq 200); do
    kill -0 "$service" 2>/dev/null || break
    grep -q '^ready' out.txt && kill -TERM "$service" 2>/dev/null
    sleep 0.05
  done
  kill -9 "$service" 2>/dev/null && fail "ulimit $limit: catamaran serve $*: does not end" "$(cat err.txt)"
  wait "$service" 2>/dev/null
  code=$?
  # It was asked twice, and the second time ends it at once.
  [ "$code" = 143 ] && code=0
  ended "$code" "ulimit $limit: catamaran serve $*"
}

# The same with rows on disk.
sed -e 's/^program wide/program cold/' -e 's/^  optimizer = .*/&\n  home = disk(memory="8MB")/' wide.ctm >cold.ctm

# ladder FEW MANY: the rungs of this run.
ladder() { if [ -n "$every" ]; then echo "$2"; else echo "$1"; fi; }

train=(train wide.ctm --data wide.csv --batch 1000 --threads 2 --quiet)
cold=(train cold.ctm --data wide.csv --batch 1000 --threads 2 --quiet --steps 3)
run 0 train wide.ctm --data few.csv --batch 100 --quiet --out kept

if grep -qE '__(asan|tsan)_init' "$catamaran"; then
  echo 'limits: no ladders of memory: a sanitizer takes more than they allow'
else
  # ---- memory
  for kilobytes in $(ladder '15000 20000 40000 80000 160000 250000' \
    '8000 10000 12000 15000 18000 20000 25000 30000 40000 50000 60000 70000 80000 90000 100000 120000
     140000 150000 160000 180000 200000 220000 250000 280000 300000 350000 400000 500000'); do
    limited "-d $kilobytes" "${train[@]}" --out out
    limited "-d $kilobytes" "${cold[@]}" --out out
    served "-d $kilobytes"
  done
  limited '-d 600000' "${train[@]}" --out out
  is 'with enough memory it trains' "$code" 0
  limited '-d 100000' "${train[@]}" --out out --steps 0
  is 'a limit that suffices does not disturb' "$code" 0
  limited '-d 80000' "${train[@]}" --out out --resume
  is 'memory that runs out is of the environment' "$code" 3
  has 'what was being done is said' "$(cat err.txt)" 'It ended in step'

  for kilobytes in $(ladder '150000 300000 450000 900000' \
    '120000 150000 180000 200000 220000 250000 270000 300000 330000 350000 380000 400000 420000 450000
     480000 500000 600000 700000 800000 900000 1200000 2000000'); do
    limited "-v $kilobytes" "${train[@]}" --out out
    limited "-v $kilobytes" predict wide.ctm --state kept --data few.csv --out predicted.csv
    served "-v $kilobytes"
  done
  served '-v 2000000' --learn --data-dir data

  # ---- requests that need more memory than there is
  awk 'BEGIN {
    printf "{\"inputs\":[{\"name\":\"user\",\"datatype\":\"FP32\",\"shape\":[200000,2],\"data\":[0"
    for (i = 1; i < 400000; ++i) printf ",0.5"
    printf "]},{\"name\":\"item\",\"datatype\":\"INT64\",\"shape\":[200000],\"data\":[0"
    for (i = 1; i < 200000; ++i) printf ",1"
    printf "]}]}"
  }' >large.json
  : >serve.txt
  (
    ulimit -d 120000
    exec "$catamaran" serve taste.ctm --http 127.0.0.1:0 --grpc off --max-rows-per-request 1000000
  ) >serve.txt 2>serve_err.txt &
  service=$!
  await_service "$service"
  url=$(sed -n 's/^HTTP  //p' serve.txt)
  asking=()
  for _ in 1 2 3 4 5 6; do
    curl -s -m 20 -o /dev/null "$url/v2/models/taste/infer" -d @large.json &
    asking+=($!)
  done
  wait "${asking[@]}"
  is 'a service that has no memory for a request goes on' \
    "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/v2/health/ready")" 200
  has 'the request is told' "$(curl -s -m 20 "$url/v2/models/taste/infer" -d @large.json)" 'out of memory'
  kill -TERM "$service"
  wait "$service"
  is 'and it ends in order' "$?" 0
fi

# ---- descriptors
for number in $(ladder '4 8 16 32 64' '3 4 5 6 7 8 10 12 14 16 20 24 28 32 40 48 64 128'); do
  limited "-n $number" "${train[@]}" --steps 3 --out out
  limited "-n $number" "${cold[@]}" --out out
  served "-n $number"
  served "-n $number" --learn --data-dir data
done
served '-n 16'
is 'gRPC without descriptors is of the environment' "$code" 3
has 'it names the limit' "$(cat err.txt)" 'ulimit -n'

# ---- sizes of files
for blocks in $(ladder '1 10 1000' '1 2 4 8 10 16 32 64 100 200 500 1000 10000'); do
  limited "-f $blocks" "${train[@]}" --steps 3 --out out
  limited "-f $blocks" data convert wide.csv wide.rec
  limited "-f $blocks" predict wide.ctm --state kept --data few.csv --out predicted.csv
  served "-f $blocks" --learn --data-dir data
done
limited '-f 10' data convert wide.csv wide.rec
is 'a file that grows too large is of the environment' "$code" 3
has 'and named' "$(cat err.txt)" 'wide.rec'

# ---- threads
if ! "${as_nobody[@]}" "$catamaran" --version >/dev/null 2>&1 || [ ${#as_nobody[@]} = 0 ]; then
  echo 'limits: no ladder of threads: it needs root, setpriv and a program that all may run'
else
  for number in $(ladder '1 2 4 8 12 20' '1 2 3 4 5 6 7 8 9 10 11 12 14 16 18 20 22 24 28 32 40'); do
    limited "-u $number" "${train[@]}" --steps 3 --out out
    limited "-u $number" "${cold[@]}" --out out
    served "-u $number"
    served "-u $number" --learn --data-dir data
  done
  served '-u 12'
  is 'gRPC without threads is of the environment' "$code" 3
  has 'it names that limit' "$(cat err.txt)" 'ulimit -u'
fi

# ---- connections beyond the descriptors
: >serve.txt
(
  ulimit -n 64
  exec "$catamaran" serve taste.ctm --http 127.0.0.1:0 --grpc 127.0.0.1:0
) >serve.txt 2>serve_err.txt &
service=$!
await_service "$service"
http=$(sed -n 's|^HTTP  http://||p' serve.txt) grpc=$(sed -n 's|^gRPC  ||p' serve.txt)
connections=()
for address in "$http" "$grpc"; do
  for _ in $(seq 60); do
    exec {connection}<>"/dev/tcp/${address%:*}/${address##*:}" || break
    connections+=("$connection")
  done
done
sleep 0.5
kill -0 "$service" || fail 'a flood of connections ends the service' "$(cat serve_err.txt)"
for connection in "${connections[@]}"; do exec {connection}>&-; done
for _ in $(seq 50); do
  healthy=$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://$http/v2/health/ready")
  [ "$healthy" = 200 ] && break
  sleep 0.1
done
is 'when they are gone, requests are answered again' "$healthy" 200
kill -TERM "$service"
wait "$service"
is 'and the service ends in order' "$?" 0

report limits

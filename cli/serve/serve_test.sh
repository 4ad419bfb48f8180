#!/usr/bin/env bash
# cli/serve/serve_test.sh PROGRAM: starts real services and talks to them with curl.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../test_helpers.sh" "$1"

write_taste
cat >meet.ctm <<'EOF'
program meet
fn infer(x: f32[B]) -> (y: f32[B]) { return x - mean(x) }
EOF

service= url=
# start ARGUMENT...: a service on free ports; `url` is where it answers.
start() {
  : >serve.txt
  "$catamaran" serve --http 0 --grpc 0 "$@" >serve.txt 2>serve_err.txt &
  service=$!
  await_service "$service"
  url=$(sed -n 's/^HTTP  //p' serve.txt)
}
# stop SIGNAL CODE: ends it.
stop() {
  kill "-$1" "$service"
  wait "$service" 2>/dev/null
  is "exit code after $1" "$?" "$2"
}
get() { curl -sS -m 20 "$url$1"; }
post() { curl -sS -m 20 "$url$1" -d "$2"; }
code() { curl -sS -m 20 -o /dev/null -w '%{http_code}' "$@"; }

request='{"inputs": [{"name": "user", "datatype": "FP32", "shape": [1, 2], "data": [0, 0]},
  {"name": "item", "datatype": "INT64", "shape": [3], "data": [1, 2, 3]}]}'

# --- Answers, of two models.
start taste.ctm other=meet.ctm --data-dir data
has "it names its models" "$(cat serve.txt)" "model taste, version 1, step 0"
has "it says who runs alone" "$(cat serve.txt)" "its requests are run one by one: mean at line 2"
is "live" "$(code "$url/v2/health/live")" 200
is "ready" "$(code "$url/v2/health/ready")" 200
has "metadata" "$(get /v2/models/taste)" '"name":"user"'
answer=$(post /v2/models/taste/infer "$request")
has "one user, three items" "$answer" '"shape":[3]'
has "a user of zeros" "$answer" '0.5,0.5,0.5'
has "rows" "$(post /v2/models/taste/infer '{"rows": [{"user": [0, 0], "item": 7}]}')" '0.5'
has "the other model" "$(post /v2/models/other/infer \
  '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 3]}]}')" '-1'
has "an item that is not there" "$(post /v2/models/taste/infer '{"rows": [{"user": [0, 0], "item": 99}]}')" \
  'taste.ctm:4'
has "an unknown model" "$(post /v2/models/tast/infer "$request")" 'did you mean taste?'
has "metrics" "$(get /metrics)" 'catamaran_model_requests_total{model="taste",version="1",result="answered"}'

# --- One process a data directory.
run 3 serve taste.ctm --http 0 --grpc 0 --data-dir data
has "a directory in use" "$err" "data/lock"

stop TERM 0
has "it says how it ended" "$(cat serve.txt)" "ended after"

# --- Learning: what was acknowledged survives, also a kill.
start taste.ctm --data-dir data --learn
has "it learns" "$(cat serve.txt)" "step 0, learning"
before=$(post /v2/models/taste/infer '{"rows": [{"user": [1, 1], "item": 3}]}')
trained=$(post /v1/models/taste/train '{"rows": [{"user": [1, 1], "item": 3, "label": 1}]}')
has "an example is taken" "$trained" '"rows":1'
post /v1/models/taste/commit '{}' >/dev/null
after=$(post /v2/models/taste/infer '{"rows": [{"user": [1, 1], "item": 3}]}')
data() { sed 's/.*"data":\[\([^]]*\)\].*/\1/' <<<"$1"; }
checks=$((checks + 1))
awk -v a="$(data "$before")" -v b="$(data "$after")" 'BEGIN { exit !(b > a) }' ||
  fail "the probability rises" "$before" "$after"
stop KILL 137
start taste.ctm --data-dir data --learn
has "the step is there after a kill" "$(cat serve.txt)" "step 1, learning"
is "so is what it learned" \
  "$(data "$(post /v2/models/taste/infer '{"rows": [{"user": [1, 1], "item": 3}]}')")" "$(data "$after")"
# --- Rows with columns that the model does not know, and labels that it cannot learn from.
has "a misspelt column is no empty one" \
  "$(post /v1/models/taste/train '{"rows": [{"usr": [1, 1], "item": 3, "label": 1}]}')" \
  "row 0: there is no column 'usr'; did you mean 'user'?"
has "a label that the loss does not take" \
  "$(post /v1/models/taste/train '{"rows": [{"user": [1, 1], "item": 3, "label": 1e30}]}')" \
  "row 0: label 'label': found 1e+30, wanted a number from 0 to 1 (binary_cross_entropy, taste.ctm:7"
is "it is refused" "$(code "$url/v1/models/taste/train" \
  -d '{"rows": [{"user": [1, 1], "item": 3, "label": 2}]}')" 400
has "nor does feedback" \
  "$(post /v1/models/taste/feedback '{"items": [{"id": "a", "row": 0, "value": 1e30}]}')" \
  'found 1e+30'
echo '{"user": [1, 1], "item": 5, "label": 1, "page": "home"}' >extra.jsonl
run 0 feed taste --data extra.jsonl --service "${url#http://}"
has "a file may have more columns" "$out" '1 row acknowledged'
echo '{"usr": [1, 1], "item": 5, "label": 1}' >misspelt.jsonl
run 1 feed taste --data misspelt.jsonl --service "${url#http://}"
has "a misspelt one is named" "$err" "did you mean it by 'usr'?"
stop INT 0
start taste.ctm --data-dir data --learn --lenient-rows
post /v2/models/taste/infer '{"rows": [{"user": [1, 1], "item": 3, "page": "home"}]}' >/dev/null
post /v1/models/taste/train '{"rows": [{"user": [1, 1], "item": 3, "label": 1, "page": ""}]}' >/dev/null
has "lenient rows are counted" "$(get /metrics)" \
  'catamaran_model_lenient_rows_total{model="taste",version="1"} 2'
has "and shown" "$(get /v1/overview)" '"lenient_rows":2'
# --- What callers may not bring about.
ahead=$(( ($(date +%s) + 3600) * 1000000000 ))
is "a prediction for a time far ahead" "$(code "$url/v2/models/taste/infer" \
  -d "{\"rows\": [{\"user\": [0, 0], \"item\": 7}], \"parameters\": {\"event_time_ns\": $ahead}}")" 400
is "a prediction for a moment ago" "$(code "$url/v2/models/taste/infer" \
  -d "{\"rows\": [{\"user\": [0, 0], \"item\": 7}], \"parameters\": {\"event_time_ns\": $((ahead - 3601000000000))}}")" 200
loaded=$(post /v2/repository/models/other/load '{"parameters": {"program": "/etc/passwd"}}')
has "a file that is no program" "$loaded" '/etc/passwd is not a program'
is "and none of its lines" "$(grep -c 'root\|:0:' <<<"$loaded")" 0
has "waiting bytes are told" "$(get /metrics)" 'catamaran_learning_waiting_bytes{model="taste"}'
stop INT 0

# --- What it tells, as JSON.
start taste.ctm --data-dir data --learn --log-format json --slow-ms 0.001
post /v2/models/taste/infer '{"rows": [{"user": [0, 0], "item": 99}]}' >/dev/null
post /v2/models/taste/infer "$request" >/dev/null
post /v1/models/taste/train '{"rows": [{"user": [1, 1], "item": 4, "label": 1}]}' >/dev/null
commit=$(post /v1/models/taste/commit '{}' | sed 's/.*"commit":\([0-9]*\).*/\1/')
post /v1/models/taste/pause '{}' >/dev/null
post /v1/models/taste/resume '{}' >/dev/null
post /v1/models/taste/rollback "{\"commit\": $commit}" >/dev/null
post /v2/repository/models/taste/unload '{}' >/dev/null
stop TERM 0
told=$(cat serve_err.txt)
for event in recovery load ready failed_request slow_request commit pause resume rollback unload drain end; do
  has "it tells of $event" "$told" "\"event\":\"$event\""
done
has "with the model" "$told" '"event":"pause","model":"taste","step":'
checks=$((checks + 1))
python3 -c 'import json, sys
for line in open("serve_err.txt"):
    event = json.loads(line)
    assert event["time"].endswith("Z") and event["level"] and event["event"], line' ||
  fail "each line is JSON" "$told"
start taste.ctm --log-level off
post /v2/models/taste/infer '{"rows": [{"user": [0, 0], "item": 99}]}' >/dev/null
stop TERM 0
is "told to be silent, it is" "$(cat serve_err.txt)" ""
run 2 serve taste.ctm --log-format xml
has "a format" "$err" "--log-format"

# --- Mistakes.
run 2 serve
has "no model" "$err" "MODEL"
run 2 serve taste.ctm --http nowhere
has "an address" "$err" "--http nowhere: wanted HOST:PORT"
run 2 serve taste.ctm taste.ctm
has "two of one name" "$err" "two models are called taste"
run 2 serve taste.ctm --state x=y
has "an option for nobody" "$err" "there is no model x"
run 2 serve taste.ctm --learn
has "learning without a place" "$err" "--data-dir"
run 3 serve nothing.ctm
has "a missing file" "$err" "nothing.ctm"
run 1 serve taste.ctm --http 0 --grpc 0 --infer-fn infr
has "a missing function" "$err" "infr"
run 1 serve meet.ctm --http 0 --grpc 0 --data-dir data2 --learn
has "a program that cannot learn" "$err" "train"
run 3 serve taste.ctm --http 0.0.0.0:0 --grpc 0
has "open to others" "$err" "token"

report serve

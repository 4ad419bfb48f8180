#!/usr/bin/env bash
# examples/online-ctr/online_ctr_test.sh PROGRAM: does what README.md says, word for word but for the
# port, with the real program.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../cli/test_helpers.sh" "$1"
cp "$source"/examples/online-ctr/* .

# The blocks of commands, in their order: commands1.sh, commands2.sh.
awk '/^```sh$/ { file = "commands" ++block ".sh"; next } /^```/ { file = "" } file { print >file }' README.md
mapfile -t commands <commands1.sh
is 'three commands' "${#commands[@]}" 3

mkdir bin && ln -s "$catamaran" bin/catamaran && export PATH="$PWD/bin:$PATH"
service=
# at_port COMMAND: the command, with the service's own port.
at_port() { sed "s/localhost:8000/127.0.0.1:$port/; s/^catamaran feed ctr/& --service $port/" <<<"$1"; }
serve() {
  : >serve.txt
  eval "exec ${commands[0]% &} --http 0 --grpc off" >serve.txt 2>&1 &
  service=$!
  await_service "$service"
  port=$(sed -n 's|^HTTP  http://127.0.0.1:||p' serve.txt)
}

# ---- the three commands
serve
has 'it learns' "$(cat serve.txt)" 'model ctr, version 1, step 0, learning'
fed=$(eval "$(at_port "${commands[1]}")" 2>&1)
is 'the rows are taken' "$?" 0
has 'all of them' "$fed" '2,000 rows acknowledged'
has 'and learned from' "$fed" 'ctr has learned from 2,000 examples in all'
auc=$(sed -n 's/.*AUC \([0-9.]*\),.*/\1/p' <<<"$fed")
checks=$((checks + 1))
awk -v auc="$auc" 'BEGIN { exit !(auc > 0.6 && auc < 0.8) }' || fail 'it predicts clicks' "$fed"
answer=$(eval "$(at_port "${commands[2]}")")
has 'it answers' "$answer" '"name":"probability"'

# ---- the same rows again count once; under another key they count again
has 'sent again' "$(eval "$(at_port "${commands[1]}")" 2>&1)" 'has learned from 2,000 examples in all'
has 'another key' "$(eval "$(at_port "${commands[1]} --key second --request-rows 100")" 2>&1)" \
  'has learned from 4,000 examples in all'

# ---- killed, it goes on where it was, while a feed waits for it
kill -9 $service
wait $service 2>/dev/null
old=$port
serve
has 'it has what it learned' "$(curl -s "127.0.0.1:$port/v1/models/ctr/learning")" '"examples":4000'
run 3 feed ctr --features clicks.features --data clicks.csv --service "$old" --patience 0
has 'a service that is not there' "$err" "cannot reach 127.0.0.1:$old"

# ---- clicks as they happen
mapfile -t live <commands2.sh
has 'an answer with an id' "$(eval "$(at_port "${live[0]}")")" '"id":"r1"'
has 'what became of it' "$(eval "$(at_port "${live[1]}")")" '"items":1'

# ---- deploy/prometheus asks for metrics that there are
metrics=$(curl -sS "127.0.0.1:$port/metrics")
for name in $(grep -o 'catamaran_[a-z0-9_]*' "$source/deploy/prometheus/alerts.yml" | sort -u); do
  has "a metric of the alerts" "$metrics" "
$name{"
done

# ---- mistakes
run 3 feed ctr --features clicks.features --data nothing.csv --service "$port"
run 1 feed crt --features clicks.features --data clicks.csv --service "$port"
has 'a misspelt model' "$err" 'did you mean ctr?'
run 2 feed ctr --data clicks.csv --time when --service "$port"
has 'a column that is not there' "$err" '--time when'
run 2 feed ctr --data clicks.csv --speed 60 --service "$port"
has 'a speed of nothing' "$err" '--speed needs --time'
{ head -n 3 clicks.csv; echo '2024-02-29 00:01,u0,Oslo,phone,a8,music,11.56,1,'; } >unlabelled.csv
run 1 feed ctr --features clicks.features --data unlabelled.csv --service "$port"
has 'rows without a label' "$err" 'the service refuses rows 0 to 2, none of which is learned from'

kill $service
wait $service
is 'the service ends in order' "$?" 0

# ---- features belong to the model
run 0 replay data/ctr --program ctr.ctm --features clicks.features --seed 1
sed 's/hash(user)/hash(ad, salt="z")/' clicks.features >other.features
differs='output ids is stack(hash(ad, salt="z"), hash(city)'
run 1 replay data/ctr --program ctr.ctm --features other.features --seed 1
has 'replay refuses others' "$err" "other.features:9: $differs"
run 1 serve ctr.ctm --features other.features --learn --data-dir data --http 0 --grpc off
has 'so does a restart' "$err" "other.features:9: $differs"

# ---- what README.md says of the rest
is 'the data is what the script makes' "$(bash ./make_clicks.sh && cmp clicks.csv "$source/examples/online-ctr/clicks.csv" && echo same)" same
run 0 data head clicks.csv --print-schema
run 0 features apply clicks.features --data clicks.csv
run 0 train ctr.ctm --features clicks.features --data clicks.csv --out runs/ctr --epochs 1

report example_online_ctr

#!/usr/bin/env bash
# cli/train/train_test.sh CATAMARAN: `catamaran train`, `eval` and `predict` with the real program.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../test_helpers.sh"

cat >shop.ctm <<'X'
program shop
table @taste : u64 -> f32[4] = normal(std=0.1) {
  features = [user, item]
  optimizer = adagrad(lr=0.1)
}
fc = linear(6, 1)
drop = dropout(0.1)
fn net(user: u64[B], item: u64[B], x: f32[B, 2], training: static bool = false) -> f32[B] {
  e = lookup(@taste, user, feature=user) * lookup(@taste, item, feature=item)
  return sigmoid(reshape(fc(drop(concat(e, x, axis=1), training=training)), [B]))
}
fn infer(user: u64[B], item: u64[B], x: f32[B, 2]) -> (p: f32[B]) { return net(user, item, x) }
fn loss(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(net(user, item, x, training=true), label))
}
train = adam(clip(grad(loss), norm=1.0), lr=cosine(0.01, steps=100000))
X
rows() {  # file, count, seed
  awk -v n="$2" -v seed="$3" 'BEGIN { srand(seed); print "user,item,x1,x2,label,when"
    for (i = 0; i < n; ++i) {
      u = int(rand() * 20); t = int(rand() * 30); a = rand() * 2 - 1; b = rand() * 2 - 1
      p = 1 / (1 + exp(-2 * (a - b) - ((u * 7 + t * 3) % 5 - 2)))
      printf "%d,%d,%.4f,%.4f,%d,%d\n", u, t, a, b, rand() < p, 1700000000 + i } }' >"$1"
}
rows train.csv 2000 1
rows valid.csv 300 2
bind=(--bind x=x1,x2)
train=(train shop.ctm --data train.csv --valid valid.csv "${bind[@]}" --batch 32 --log-every 20
  --event-time 1700000000)
# Everything that was measured, but for times.
measured() { sed 's/"seconds":[0-9.e-]*,//; s/,"rows_per_second":[0-9.]*//' "$1/metrics.jsonl"; }
dense() { sha256sum <"$(ls -t "$1"/dense-* | head -1)"; }
table_rows() {
  "$catamaran" table export "$1" @taste "$2" >export.txt 2>&1 || fail "export of $1" "$(cat export.txt)"
  sort "$2" | sha256sum
}

# ---- usage and errors
for command in train eval predict; do
  run 0 "$command" --help
  has "help of $command has examples" "$out" 'Examples:'
done
run 2 train shop.ctm
has 'data is wanted' "$err" '--data'
run 3 train shop.ctm --data nowhere.csv
has 'a missing file' "$err" 'nowhere.csv'
run 1 train shop.ctm --data train.csv --out a
has 'a missing column names the line' "$err" 'shop.ctm:13: argument x : f32[B, 2]: train.csv has no column x'
has 'and lists the columns' "$err" 'user: i64, item: i64, x1: f32'
[ ! -e a ] || fail 'nothing is made when something does not fit'
run 2 "${train[@]}" --resume
has 'resume needs a place' "$err" '--out DIR'
run 1 "${train[@]}" --metric acu
has 'a misspelt metric' "$err" 'did you mean auc?'
run 2 "${train[@]}" --commit-every often
run 1 "${train[@]}" --best profit --out b1
has 'an unknown metric to find the best by' "$err" 'there are loss, auc, log_loss, accuracy'

# ---- a run
run 0 "${train[@]}" --epochs 3 --out whole
has 'arguments are listed' "$out" 'x : f32[B, 2]'
has 'validations are shown' "$out" 'auc'
has 'how it ended' "$out" 'Done: 189 steps, 6,000 rows'
for file in report.html metrics.jsonl program.ctm latest best; do
  [ -e "whole/$file" ] || fail "whole/$file is missing"
done
has 'the report has curves' "$(cat whole/report.html)" '<polyline'
run 2 "${train[@]}" --out whole
has 'a run is not overwritten' "$err" '--resume'

run 0 "${train[@]}" --steps 0 --out start --quiet
has 'no steps: the initial state is kept' "$out" 'Done: 0 steps'
run 0 eval shop.ctm --state start/latest --data valid.csv "${bind[@]}"
has 'and can be evaluated' "$out" '(step 0)'

# ---- cut by Ctrl-C, and killed
long=(--epochs 400 --valid-every 200 --commit-every 50)
run 0 "${train[@]}" "${long[@]}" --steps 3000 --out long
start() { "$catamaran" "${train[@]}" "${long[@]}" --steps 3000 --out "$@" >out.txt 2>err.txt & pid=$!; }
# Old commits are deleted while it runs, so any but the first two will do.
wait_for_commits() { for _ in $(seq 3000); do compgen -G "$1/commit-[2-9]*" >/dev/null && return; sleep 0.01; done; }
start cut --quiet
wait_for_commits cut/latest
kill -INT "$pid"
wait "$pid"
is 'Ctrl-C has its own exit code' "$?" 130
out=$(cat out.txt)
has 'it says how to go on' "$out" '--resume'
run 0 "${train[@]}" "${long[@]}" --steps 3000 --out cut --resume --quiet
is 'a run that was interrupted measures the same' "$(measured cut)" "$(measured long)"
is 'and ends in the same state' "$(dense cut/latest)" "$(dense long/latest)"
is 'and has the same best' "$(dense cut/best)" "$(dense long/best)"
for _ in 1 2; do
  start killed --quiet --resume
  sleep 0.3
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
done
run 0 "${train[@]}" "${long[@]}" --steps 3000 --out killed --resume --quiet
is 'a run that was killed measures the same' "$(measured killed)" "$(measured long)"
is 'and ends in the same state' "$(dense killed/latest)" "$(dense long/latest)"
is 'and the same rows' "$(table_rows killed/latest k.csv)" "$(table_rows long/latest l.csv)"
cp -r long hurt
newest=hurt/latest/dense-$(for c in hurt/latest/commit-*; do echo "${c##*-}"; done | sort -n | tail -n 1).safetensors
printf X | dd of="$newest" bs=1 seek=$(($(stat -c %s "$newest") - 1)) conv=notrunc 2>/dev/null
run 0 "${train[@]}" "${long[@]}" --steps 3000 --out hurt --resume --quiet
has 'a damaged commit is a warning with the name of its file' "$err" "$newest: damaged: "
has 'which says from where it goes on' "$err" 'was loaded instead'
is 'and it ends in the same state' "$(dense hurt/latest)" "$(dense long/latest)"
run 1 "${train[@]}" "${long[@]}" --out cut --resume --shuffle 10
has 'other settings are refused' "$err" 'shuffle was 65536 and is 10'

# ---- eval, predict
run 0 eval shop.ctm --state whole --data valid.csv "${bind[@]}" --json
has 'the best state is evaluated' "$out" '"state":"whole/best"'
auc=$(sed 's/.*"auc":\([0-9.]*\).*/\1/' <<<"$out")
has 'as it was when validated' "$(grep '"best":true' whole/metrics.jsonl | tail -1)" "\"auc\":$auc"
run 0 predict shop.ctm --state whole --data valid.csv "${bind[@]}" --out p.csv --keep user,label
is 'a header, and a row a row' "$(head -1 p.csv) $(wc -l <p.csv)" 'user,label,p 301'
is 'in order' "$(cut -d, -f1 p.csv | tail -n +2)" "$(cut -d, -f1 valid.csv | tail -n +2)"
run 0 predict shop.ctm --state whole --data valid.csv "${bind[@]}" --out p.jsonl
is 'JSON rows' "$(wc -l <p.jsonl)" 300
for file in p.rec p.npy; do
  run 0 predict shop.ctm --state whole --data valid.csv "${bind[@]}" --out "$file"
done
run 0 data head p.rec
has 'records can be read' "$out" 'p'
run 2 predict shop.ctm --state whole --data valid.csv "${bind[@]}" --out p.xls
run 3 eval shop.ctm --state nowhere --data valid.csv "${bind[@]}"

# ---- raw rows, through a features file
cat >shop.features <<'X'
input who: string, what: string, a: f32, b: f32, sold: string
user  = hash(who)
item  = hash(what)
x     = stack(normalize(a), b)
label = sold in ["yes"]
X
raw() { awk -F, 'BEGIN { print "who,what,a,b,sold" } NR > 1 {
  printf "person %s,thing %s,%s,%s,%s\n", $1, $2, $3 * 10, $4, $5 ? "yes" : "no" }' "$1" >"$2"; }
raw train.csv raw.csv
raw valid.csv raw_valid.csv
run 1 train shop.ctm --data raw.csv --features shop.features
has 'features want to be fitted' "$err" 'run `catamaran features fit shop.features'
run 0 features fit shop.features --data raw.csv
run 0 train shop.ctm --data raw.csv --valid raw_valid.csv --features shop.features --batch 32 \
  --epochs 3 --quiet --out raw
auc=$(grep -o '"auc":[0-9.]*' raw/metrics.jsonl | tail -1)
awk -v auc="${auc#*:}" 'BEGIN { exit !(auc > 0.75) }' || fail "features train a model: $auc"
run 0 eval shop.ctm --state raw --data raw_valid.csv --features shop.features --json
has 'eval takes raw rows' "$out" '"rows":300'
run 0 predict shop.ctm --state raw --data raw_valid.csv --features shop.features --out raw_p.csv
awk -F, 'NR > 1 { printf "{\"who\": \"%s\", \"what\": \"%s\", \"a\": %s, \"b\": %s}\n", $1, $2, $3, $4 }' \
  raw_valid.csv >raw.jsonl
run 0 predict shop.ctm --state raw --data raw.jsonl --features shop.features --out json_p.csv
is 'JSON rows without a label are predicted the same' "$(cmp raw_p.csv json_p.csv 2>&1)" ''
cut -d, -f1-4 raw_valid.csv >unlabelled.csv
run 0 predict shop.ctm --state raw --data unlabelled.csv --features shop.features --out csv_p.csv
is 'CSV rows without a label too' "$(cmp raw_p.csv csv_p.csv 2>&1)" ''
sed 's/"what"/"waht"/' raw.jsonl >misspelt.jsonl
run 1 predict shop.ctm --state raw --data misspelt.jsonl --features shop.features --out bad.csv
has 'a misspelt column is not taken as empty' "$err" \
  "misspelt.jsonl:1: the column 'what' (string) is missing; did you mean it by 'waht'?"
sed '1s/what/waht/' unlabelled.csv >misspelt.csv
run 1 predict shop.ctm --state raw --data misspelt.csv --features shop.features --out bad.csv
has 'nor in CSV' "$err" "there is no field 'what'; did you mean 'waht'?"
printf 'user: i64\nitem: i64\nx1: f32\nx2: f32\nlabel: i64\n' >labelled
cut -d, -f1-4 valid.csv >unlabelled.csv
run 0 predict shop.ctm --state whole --data unlabelled.csv "${bind[@]}" --schema labelled \
  --out csv_p.csv
cp shop.features as_it_was.features
cp shop.features.fit as_it_was.features.fit
sed -i 's/^user  = hash(who)/\/\/ who it is\nuser = hash( who )/' shop.features
run 0 features fit shop.features --data raw.csv
run 0 eval shop.ctm --state raw --data raw_valid.csv --features shop.features --json
is 'comments and spaces are no other features' "$err" ''
sed -i 's/hash(what)/hash(what, salt="other")/' shop.features
run 0 features fit shop.features --data raw.csv
differs='output item is hash(what, salt="other") and was hash(what)'
run 1 train shop.ctm --data raw.csv --valid raw_valid.csv --features shop.features --batch 32 \
  --epochs 4 --quiet --out raw --resume
has 'other features are refused by train' "$err" "$differs"
for command in eval 'predict --out other.csv'; do
  # shellcheck disable=SC2086
  run 1 $command shop.ctm --state raw --data raw_valid.csv --features shop.features
  has "and by $command" "$err" "shop.features.fit:4: $differs"
done
run 1 serve shop.ctm --state raw --features shop.features --http 127.0.0.1:0 --grpc off
has 'and by serve' "$err" "$differs"
run 0 eval shop.ctm --state raw --data raw_valid.csv --features shop.features --json \
  --allow-changed-features
has 'unless they are allowed' "$err" "$differs"
run 0 train shop.ctm --data raw.csv --valid raw_valid.csv --features shop.features --batch 32 \
  --epochs 4 --quiet --out raw --resume --allow-changes --allow-changed-features
run 0 eval shop.ctm --state raw/latest --data raw_valid.csv --features shop.features --json
is 'then the state is of the new ones' "$err" ''
awk -F, -v OFS=, 'NR == 3 { $5 = "1e30" } 1' train.csv >label.csv
run 1 train shop.ctm --data label.csv "${bind[@]}"
has 'a label that no loss takes is named' "$err" \
  "label.csv:3: column 'label': found 1e+30, wanted a number from 0 to 1 (binary_cross_entropy"
run 0 train shop.ctm --data label.csv "${bind[@]}" --bad-rows 1
has 'and skipped if it may be' "$out" '1,999 rows'

# ---- online, and bad rows
run 0 train shop.ctm --data train.csv "${bind[@]}" --online --time when --window 10m --out online
has 'windows of event time' "$(grep -c window online/metrics.jsonl)" 4
sed '5s/.*/x,y/' train.csv >bad.csv
printf 'user: i64\nitem: i64\nx1: f32\nx2: f32\nlabel: i64\nwhen: i64\n' >columns
run 1 train shop.ctm --data bad.csv "${bind[@]}" --schema columns
has 'a bad row is named' "$err" 'bad.csv:5'
run 0 train shop.ctm --data bad.csv "${bind[@]}" --schema columns --bad-rows 1
has 'and skipped if it may be' "$out" '1,999 rows'

# ---- where the time goes
run 0 train shop.ctm --data train.csv "${bind[@]}" --batch 32 --profile --timeline run.json --quiet
has 'ops are shown' "$out" 'by op'
has 'layers are shown' "$out" 'by layer'
has 'waiting is told apart' "$out" 'waiting for data'
has 'readers are in the timeline' "$(cat run.json)" '"reader"'
has 'and what they do' "$(cat run.json)" 'read and transform rows'
has 'steps are' "$(cat run.json)" '"trainer"'

report cli_train

#!/usr/bin/env bash
# models/models_test.sh CATAMARAN: every model of the zoo type-checks, has a recipe, and learns from a few
# rows that are made up by its group's .columns; known architectures have the sizes of their papers.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../cli/test_helpers.sh"

# How many numbers a model's params hold: the products of their shapes.
params_of() {
  awk '/"kind":/ { param = /"param"/ }
       param && /"type":/ {
         gsub(/.*\[|\].*/, ""); n = split($0, dims, /, */); size = 1
         for (i = 1; i <= n; ++i) size *= dims[i]
         total += size; param = 0 }
       END { print total + 0 }'
}
params() {  # model, wanted
  run 0 show "$source/models/$1.ctm" --format json
  is "params of $1" "$(params_of <out.txt)" "$2"
}

for group in "$source"/models/*/; do
  columns=("$group"*.columns)
  programs=("$group"*.ctm)
  [[ -e ${programs[0]} ]] || continue
  [[ -e ${columns[0]} ]] || { fail "$group has no .columns"; continue; }
  "$source/models/made_up_rows" -v rows=24 "${columns[0]}" >rows.jsonl || fail "made_up_rows ${columns[0]}"
  "$source/models/made_up_rows" -v schema=1 "${columns[0]}" >rows.schema
  for program in "${programs[@]}"; do
    model=${program%.ctm}
    model=${model#"$source/models/"}
    checks=$((checks + 1))
    # ResNet-50 has no data here: it is compared by its outputs (bench/peers/zoo/resnet50.py).
    [[ -e $source/models/$model.recipe || $model == imagenet/resnet50 ]] || fail "$model has no recipe"
    run 0 check "$program"
    rm -rf run
    run 0 train "$program" --data rows.jsonl --schema rows.schema --valid rows.jsonl --batch 8 --epochs 1 \
      --out run --log-every 1 --quiet
    # Three steps with finite losses (JSON has null for others), then a validation.
    is "$model: steps with a finite loss" "$(grep -c '"kind":"train".*"loss":[0-9-]' run/metrics.jsonl)" 3
    is "$model: a validation" "$(grep -c '"kind":"valid"' run/metrics.jsonl)" 1
    is "$model: no step was refused" "$(grep -c '"refused"' run/metrics.jsonl)" 0
    # What bench/zoo compares in f64 is what builders made, with f64 for f32.
    grep -qs '^double$' "${program%.ctm}.recipe" || continue
    run 0 show "$program" --expand
    sed 's/\bf32\b/f64/g' out.txt >double.ctm
    rm -rf run
    run 0 train double.ctm --data rows.jsonl --schema rows.schema --batch 8 --out run --log-every 1 --quiet
    is "$model in f64: steps with a finite loss" \
      "$(grep -c '"kind":"train".*"loss":[0-9-]' run/metrics.jsonl)" 3
  done
done

params movielens/lr 3
params movielens/dlrm 7345
params news/bag 275092
params images/lenet5 61706
params cifar10/resnet20 269722
params cifar10/mobilenet_v2 2236682
params imagenet/resnet50 25557032
sed 's/linear(1280, 10,/linear(1280, 1000,/; s/f32\[B, 10\]/f32[B, 1000]/' "$source/models/cifar10/mobilenet_v2.ctm" >wide.ctm
run 0 show wide.ctm --format json
is 'MobileNet-V2 has the parameters of its paper' "$(params_of <out.txt)" 3504872
params text/gpt 842496
params text/lstm 525952

# ---- ResNet-50 learns made-up images by heart
"$source/models/made_up_rows" -v rows=8 "$source/models/imagenet/imagenet.columns" >rows.jsonl
"$source/models/made_up_rows" -v schema=1 "$source/models/imagenet/imagenet.columns" >rows.schema
rm -rf run
run 0 train "$source/models/imagenet/resnet50.ctm" --data rows.jsonl --schema rows.schema --batch 8 --epochs 6 \
  --out run --log-every 1 --quiet
sed -n 's/.*"kind":"train".*"loss":\([0-9.]*\).*/\1/p' run/metrics.jsonl >losses.txt
checks=$((checks + 1))
awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR == 6 && last < 0.8 * first) }' losses.txt ||
  fail 'the loss of ResNet-50 falls' "$(cat losses.txt)"

# ---- rows of images
mkdir clothes
for part in train:24 t10k:10; do
  count=$(printf '\\x%02x' "${part#*:}")
  { printf '\x00\x00\x08\x03\x00\x00\x00%b\x00\x00\x00\x1c\x00\x00\x00\x1c' "$count"
    for ((i = 0; i < ${part#*:}; ++i)); do printf "%784s" '' | tr ' ' "$(printf '\\%03o' $((65 + i)))"; done
  } | gzip >"clothes/${part%:*}-images-idx3-ubyte.gz"
  { printf '\x00\x00\x08\x01\x00\x00\x00%b' "$count"
    for ((i = 0; i < ${part#*:}; ++i)); do printf "$(printf '\\%03o' $((i % 10)))"; done
  } | gzip >"clothes/${part%:*}-labels-idx1-ubyte.gz"
done
CATAMARAN=$catamaran "$source/models/images/prepare" clothes clothes.rec >prepared.txt 2>&1 ||
  fail 'images/prepare' "$(cat prepared.txt)"
for part in train:22 valid:2 test:10; do
  run 0 data check "clothes.rec/${part%:*}.rec" --json
  has "images of ${part%:*}" "$out" "\"rows\": ${part#*:}"
done
run 0 data batches clothes.rec/valid.rec clothes.npy --shuffle 0
is 'the last images for training validate' "$(tail -c +129 clothes.npy/image.npy | head -c 2)" WW
is 'their labels go with them' "$(tail -c 2 clothes.npy/label.npy | od -An -tu1 | xargs)" '2 3'

# ---- rows of texts and postings
prepare() { CATAMARAN=$catamaran "$source/models/$1/prepare" "$2" "$3" >prepared.txt 2>&1; }
mkdir plays
for _ in {1..400}; do printf 'ABCDEFGHIJKLMNOPQRSTUVWX\n'; done >plays/input.txt  # 10,000 letters
prepare text plays plays.rec || fail 'text/prepare' "$(cat prepared.txt)"
for part in train:111 valid:3 test:3; do
  run 0 data check "plays.rec/${part%:*}.rec" --json
  has "windows of ${part%:*}" "$out" "\"rows\": ${part#*:}"
done
run 0 data batches plays.rec/test.rec plays.npy --shuffle 0
is 'a window begins where its part does' "$(tail -c +129 plays.npy/text.npy | head -c 5)" ABCDE
is 'next is the letter behind' "$(tail -c +129 plays.npy/next.npy | head -c 5)" BCDEF
mkdir foreign
printf 'na\xc3\xafve\n' >foreign/input.txt
prepare text foreign foreign.rec && fail 'text/prepare takes letters that are not ASCII'
has 'other letters are refused' "$(cat prepared.txt)" 'no ASCII'
mkdir news
for i in {1..10}; do echo "20 2000:1 $i:2"; done >news/train.feat
prepare news news news.rec || fail 'news/prepare' "$(cat prepared.txt)"
run 0 data head news.rec/test.rec
has 'groups and words count from 0' "$(tail -1 out.txt | tr -s ' ')" '19 1999:1 9:2'

# ---- rows of clicks
mkdir movies
printf '1|24|M|technician|T8H1N\n2|53|F|other|94043\n' >movies/u.user
{
  echo 'movieid|movietitle|releasedate|videoreleasedate|IMDbURL|unknown|Action|Western'
  for i in {1..9}; do echo "$i|Movie|01-Jan-199$i||http://|0|1|$((i % 2))"; done
} >movies/u.item
{ # Person 1 rates movies 2 and 3 in the same second; the events are not in order of time.
  printf '1\t4\t5\t300\n1\t2\t4\t200\n1\t3\t5\t200\n1\t1\t5\t100\n'
  for i in {5..9}; do printf '2\t%d\t%d\t%d\n' "$i" $((i == 6 ? 2 : 4)) "${i}00"; done
  printf '1\t9\t1\t1000\n'
} >movies/u.data
prepare movielens movies movies.rec || fail 'movielens/prepare' "$(cat prepared.txt)"
for part in train:8 valid:1 test:1; do
  run 0 data batches "movies.rec/${part%:*}.rec" "movies.${part%:*}" --shuffle 0
  has "events of ${part%:*}" "$out" "${part#*:} row"
done
ends() { tail -c +129 "movies.$1/history.offsets.npy" | od -An -v -td4 | xargs; }
is 'what was liked in earlier seconds is known, by the same person' "$(ends train)" '0 0 1 2 5 5 6 7 9'
is 'what was not liked is left out' "$(ends valid)" '0 3'
is 'who comes back goes on with the own history' "$(ends test)" '0 4'
item() { tail -c +$((129 + 8 * $2)) "movies.$1/$3.npy" | head -c 8 | od -An -td8; }
is 'a movie has one id, in question and liked before' "$(item train 0 history)" "$(item train 1 cat)"

# ---- character models write
"$source/models/made_up_rows" -v rows=8 "$source/models/text/text.columns" >rows.jsonl
"$source/models/made_up_rows" -v schema=1 "$source/models/text/text.columns" >rows.schema
write() { CATAMARAN=$catamaran "$source/models/text/generate" "$@"; }
for name in gpt lstm; do
  run 0 train "$source/models/text/$name.ctm" --data rows.jsonl --schema rows.schema --steps 1 --batch 8 \
    --out "$name" --quiet
  write "$name" "$name/latest" --letters 30 --seed 4 'ROMEO:' >first.txt || fail "$name writes"
  write "$name" "$name/latest" --letters 30 --seed 4 'ROMEO:' >again.txt
  write "$name" "$name/latest" --letters 30 --seed 5 'ROMEO:' >other.txt
  is "$name goes on with the text" "$(head -c 6 first.txt)" 'ROMEO:'
  is "$name writes as many letters, and ends the line" "$(wc -c <first.txt)" 37
  is "$name writes the same with the same seed" "$(cmp first.txt again.txt 2>&1)" ''
  has "$name writes something else with another" "$(cmp first.txt other.txt 2>&1)" differ
done
is 'a temperature of 0 is refused' "$(write gpt gpt/latest --temperature 0 2>&1)" \
  'models/text/generate: --temperature 0: wanted a number above 0'

report models

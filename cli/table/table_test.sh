#!/usr/bin/env bash
# cli/table/table_test.sh CATAMARAN: `catamaran table` on tables that really were trained.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../test_helpers.sh"

# ids FILE N...: u64[N].
ids() {
  local file=$1 hex=() number i
  shift
  for n in "$@"; do
    number=$(printf '%016x' "$n")
    for i in 14 12 10 8 6 4 2 0; do hex+=("${number:$i:2}"); done
  done
  npy "$file" '<u8' "($#,)" "${hex[@]}"
}
# ones FILE N: f32[N].
ones() {
  local hex=()
  for ((i = 0; i < $2; ++i)); do hex+=(00 00 80 3f); done
  npy "$1" '<f4' "($2,)" "${hex[@]}"
}
# step TIME ID...: one training step on these ids.
step() {
  local time=$1
  shift
  ids ids.npy "$@"
  ones y.npy $#
  run 0 run shop.ctm train --feed ids=ids.npy --feed y=y.npy --state model --time "$time"
}
json() {  # what it is about, parts of what was printed, as they stand there
  local about=$1 part
  shift
  for part in "$@"; do has "$about" "$out" "$part"; done
}

cat >shop.ctm <<'X'
program shop
table @item : u64 -> f32[2] = 0.5 {
  optimizer = adam(lr=0.1)
  admit = count(2)
  unadmitted = zeros
}
table @user : u64 -> f32[1] = 0.0 { optimizer = sgd(lr=0.1) }
fn infer(ids: u64[B]) -> f32[B] {
  return sum(lookup(@item, ids), axes=[1]) + reshape(lookup(@user, ids), [B])
}
fn loss(ids: u64[B], y: f32[B]) -> (loss: f32[]) {
  observe(@item, ids, show=1, click=y)
  return mean(square(infer(ids) - y))
}
train = sgd(grad(loss), lr=0.1)
X

# ---- usage
for command in info get export import verify diff; do
  run 0 table "$command" --help
  has "help of $command says what it is for" "$out" 'Usage: catamaran table'
done
run 0 table --help
has 'help has examples' "$out" 'Examples:'
run 2 table
run 2 table inof
has 'a misspelt command' "$err" 'there is no command table inof; did you mean table info?'
run 2 table info
has 'help is offered' "$err" 'catamaran table info --help'
run 2 table info @item
run 3 table info nowhere
has 'a missing directory' "$err" 'nowhere'
mkdir empty
run 3 table info empty
has 'no state there' "$err" 'empty: no state was saved here'

# Keys 1 to 3 are admitted in step 1 or 2, key 9 waits; step 3 changes key 1 alone and admits 4.
step 1700000000 1 2 3 1 2 9
step 1700000100 3 1 5 5
step 1700000200 1 4 4

# ---- info
run 0 table info model
has 'every table is listed' "$out" '@item: u64 -> f32[2], commit 3, step 3, event time 2023-11-14 22:16:40 UTC'
has 'the other one too' "$out" '@user: u64 -> f32[1]'
has 'rows' "$out" $'  rows       5\n'
has 'keys that wait' "$out" '  waiting    1 key, '
has 'the optimizer' "$out" 'adam(lr=0.1)'
run 0 table info model @user
[[ $out == *@item* ]] && fail 'only one table was asked for' "$out"
run 0 table info model @item --json
json 'json: rows' '"rows": 5,' '"waiting": 1,' '"commit": 3,' '"step": 3,'
json 'json: what it was told' '"width": 2,' '"store": "f32",' '"optimizer": "adam(lr=0.1)"'
run 0 table info model @item --commit 2 --json
json 'an older commit' '"rows": 4,' '"step": 2,'
run 1 table info model --commit 77
has 'a commit that is not kept' "$err" 'model: commit 77 is not kept; there is 3, 2'
run 1 table info model @itme
has 'a misspelt table' "$err" 'there is no table @itme; did you mean @item?'

# ---- get
run 0 table get model @item 1 4
has 'a row' "$out" $'1:\n  embedding  '
has 'its slots' "$out" '  slot m'
has 'its updates' "$out" '  updates    3'
has 'what was seen' "$out" 'shows 4, clicks 4, last at 2023-11-14 22:16:40 UTC'
run 0 table get model @item 9 777
is 'keys without a row say what they read as' "$out" "9: no row
  waiting    seen 1 of 2 times
  seen       shows 1, clicks 1, last at 2023-11-14 22:13:20 UTC
  score      1
  reads as   zeros: 0 0
777: no row
  reads as   zeros: 0 0"
run 0 table get model @item 0x1 --json
json 'json of a row' '"key": 1,' '"state": "row",' '"shows": 4.0,' '"updates": 3,' '"m": ['
run 2 table get model @item one
has 'not a key' "$err" "'one' is not a key"
run 2 table get model @item 18446744073709551616
run 2 table get model @item
run 2 table get model 1
has 'which table' "$err" 'which table? There are @item, @user'
run 1 table get model @item 1 --feature red
has 'no features' "$err" 'the table declares no features'

# ---- export
run 0 table export model @item item.csv
is 'rows are counted' "$out" '5 rows of commit 3 in item.csv'
is 'the names of the columns' "$(head -1 item.csv)" 'key,e0,e1'
is 'a line a row' "$(tail -n +2 item.csv | cut -d, -f1 | sort -n | tr '\n' ' ')" '1 2 3 4 5 '
run 0 table export model @item meta.csv --metadata
is 'metadata' "$(head -1 meta.csv)" 'key,e0,e1,feature,shows,clicks,last_seen,updates,score'
has 'of a key' "$(grep '^4,' meta.csv)" ',,2,2,1700000200,1,2'
run 0 table export model @item best.csv --min-score 3
is 'rows under a score are left out' "$(tail -n +2 best.csv | cut -d, -f1)" 1
run 0 table export model @item item.npy
is 'numbers and keys' "$(stat -c %s item.npy item.keys.npy | tr '\n' ' ')" '168 168 '
run 0 table export model @item old.csv --commit 2
is 'an older commit' "$out" '4 rows of commit 2 in old.csv'
run 2 table export model @item item.xls
has 'an unknown format' "$err" 'wanted a name that ends in .csv, .npy or .rows'
run 2 table export model @item item.csv --store int8
run 2 table export model @item item.rows --metadata
run 3 table export model @item no/such/folder/item.csv
run 3 table export model @item no/such/folder/item.rows
is 'nothing is left of what failed' "$(find . -name '*.tmp')" ''

run 0 table export model @item item.rows --store bf16
has 'an export for serving' "$out" '5 rows of commit 3 in item.rows (bf16, '
run 0 table info item.rows --json
json 'what it is' '"kind": "serving",' '"store": "bf16",' '"rows": 5,'
run 0 table get item.rows 1 777
has 'a row of it' "$out" $'1:\n  embedding  '
has 'and a key without one' "$out" $'777: no row\n  reads as   zeros: 0 0'
run 0 table export item.rows served.csv
is 'it can be read as CSV' "$(tail -n +2 served.csv | wc -l)" 5
run 0 table export model @item whole.rows --training
run 0 table diff model whole.rows @item
has 'a copy with slots and metadata is no different' "$out" 'no difference'
run 0 table export model @item increment.rows --since 2
has 'an increment' "$out" '2 rows changed and 0 deleted since commit '
run 0 table get increment.rows 4 2
has 'what changed is in it' "$out" $'4:\n  embedding'
has 'what did not is not' "$out" '2: no row in these changes'
run 0 table export model @item none.rows --since 3
has 'nothing new' "$out" 'nothing has changed since commit 3'
[ -e none.rows ] && fail 'a file without changes was written'
run 1 table export model @item future.rows --since 9
has 'a commit that never was' "$err" 'no increment since commit 9: a reader at commit 9 is ahead of the newest commit, 3. Resync'

# ---- verify
run 0 table verify model
has 'a good state' "$out" 'ok: model: 2 commits, '
run 0 table verify item.rows
is 'a good file' "$out" "ok: item.rows: 1 file, $(stat -c %s item.rows) bytes"
run 0 table verify model --json
json 'as json' '"ok": true,' '"commits": 2,' '"problems": []'

# flip FILE OFFSET: one bit.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf '%x' $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
cp -r model damaged
victim=$(cd damaged && ls table-item-*.rows | tail -1)
flip "damaged/$victim" 300
flip damaged/dense-3.safetensors 20
run 1 table verify damaged
has 'the damaged file of rows is named' "$err" "damaged/$victim is damaged: "
has 'so is the other' "$err" 'damaged/dense-3.safetensors: damaged: its checksum is'
run 1 table verify damaged --json
json 'both as json' '"ok": false,' "$victim" dense-3.safetensors
rm "damaged/$victim"
run 1 table verify damaged
has 'a missing file is named' "$err" "$victim"
cp item.rows cut.rows
truncate -s -100 cut.rows
run 1 table verify cut.rows
has 'a file that is cut off' "$err" 'cut.rows is damaged: '
run 3 table get cut.rows 1
printf 'not rows' >text.rows
run 3 table info text.rows
has 'not a row file' "$err" 'text.rows is damaged: '
run 3 table verify nothing.rows

# ---- diff
run 1 table diff model @item --commits 2 3
has 'added' "$out" '  added    1'
has 'changed, with the largest change' "$out" '  changed  1, by at most '
has 'of which key' "$out" ': key 1, column '
run 1 table diff model @item --commits 3 2
has 'the other way round it was removed' "$out" '  removed  1'
run 1 table diff model @item --commits 2 3 --keys
has 'keys are listed' "$out" '+ 4'
has 'changed ones too' "$out" '~ 1  '
run 1 table diff model @item --commits 2 3 --json --keys
json 'as json' '"added": 1,' '"removed": 0,' '"changed": 1,' '"key": 1,' '"key": 4,'
cp -r model copy
run 0 table diff model copy @item
has 'a copy' "$out" 'no difference'
run 2 table diff model @item
run 3 table diff model nowhere @item
run 3 table diff damaged model @item
run 3 table diff model item.rows @item
has 'an export is no table' "$err" 'wanted a whole table'

# ---- import
cat >new.csv <<'X'
key,e0,e1
100,1.5,-2
1,7,8
X
run 0 table import model @item new.csv --program shop.ctm
is 'added and replaced' "$out" '1 row added and 1 replaced in @item: commit 4 of model'
run 0 table get model @item 100 1
has 'a new row' "$out" $'100:\n  embedding  1.5 -2\n  slot m     0 0\n  slot v     0 0\n  updates    0\n  seen       shows 0, clicks 0, last at 2023-11-14 22:16:40 UTC'
has 'a replaced one keeps what was seen of it' "$out" $'1:\n  embedding  7 8\n  slot m     0 0\n  slot v     0 0\n  updates    0\n  seen       shows 4, clicks 4'
run 0 table get model @item 2
run 0 table diff model copy @user
step 1700000300 100 1
has 'training goes on from it' "$out" 'step 4'

# What was exported comes back.
run 0 table export model @item all.csv --metadata
run 0 table import fresh @item all.csv --program shop.ctm
has 'a new state is made' "$out" '6 rows added and 0 replaced in @item: commit 1 of fresh'
run 0 table export fresh @item again.csv --metadata
cmp -s <(sort all.csv) <(sort again.csv) || fail 'what was imported is what was exported' \
  "$(diff <(sort all.csv) <(sort again.csv))"
run 0 table export model @item all.npy
run 0 table import fresh2 @item all.npy --program shop.ctm
run 0 table export fresh2 @item again.npy
cmp -s all.npy again.npy && cmp -s all.keys.npy again.keys.npy || fail 'the same as .npy'
printf '5,1,2\r\n6,3,4' >plain.csv
run 0 table import fresh @item plain.csv --program shop.ctm
has 'without names' "$out" '1 row added and 1 replaced'

# Mistakes name the line, and nothing is half done.
run 0 table info model @item --json
before=$out
bad() {  # what it is about, part of the message, lines
  printf '%s\n' "${@:3}" >bad.csv
  run 1 table import model @item bad.csv --program shop.ctm
  has "$1" "$err" "$2"
}
bad 'a number that is none' "bad.csv:3: e1 is 'two', not a number that fits" key,e0,e1 7,1,2 8,1,two
bad 'too few fields' 'bad.csv:2: found 2 fields, wanted 3' 7,1,2 8,1
bad 'a key twice' 'bad.csv:3: the key 7 was there before' key,e0,e1 7,1,2 7,1,3
bad 'a key that is none' "bad.csv:1: '-7' is not a key" ' -7,1,2'
bad 'an infinite number' "bad.csv:1: e0 is 'inf'" 7,inf,2
bad 'a missing column' "bad.csv:1: there is no column 'e1'" key,e0 7,1
bad 'an unknown column' "bad.csv:1: unknown column 'colour'" key,e0,e1,colour 7,1,2,red
bad 'an open quote' 'bad.csv:2: a quote is not closed' key,e0,e1 '"7,1,2'
bad 'an unknown feature' 'bad.csv:2: the table declares no features; found red' \
  key,e0,e1,feature 7,1,2,red
bad 'a narrow row' 'bad.csv:1: it has one number; rows of the table have 2 and do not grow' 7,1,
ids wrong.keys.npy 1 2
run 1 table import model @item all.npy --keys wrong.keys.npy --program shop.ctm
has 'keys that do not fit' "$err" 'wrong.keys.npy: wanted u64[6]; found u64[2]'
run 1 table import model @user all.npy --program shop.ctm
has 'numbers that do not fit' "$err" 'all.npy: wanted f32[N, 1]; found f32[6, 2]'
run 1 table import model @itme new.csv --program shop.ctm
has 'no such table' "$err" 'shop.ctm: the program has no table @itme'
run 3 table import model @item nowhere.csv --program shop.ctm
run 2 table import model new.csv --program shop.ctm
run 2 table import model @item new.csv
run 0 table info model @item --json
is 'nothing has changed' "$out" "$before"
run 0 table verify model

# ---- features, and rows that grow
cat >pair.ctm <<'X'
program pair
table @t : u64 -> f32[2] = 0.5 {
  optimizer = sgd(lr=0.1)
  features  = [user, item]
  score     = weights(show=1, click=1)
  grow_at   = 3
}
fn loss(user: u64[B], item: u64[B], y: f32[B]) -> (loss: f32[]) {
  observe(@t, user, show=1, click=y, feature=user)
  observe(@t, item, show=1, click=y, feature=item)
  both = lookup(@t, user, feature=user) + lookup(@t, item, feature=item)
  return mean(square(sum(both, axes=[1]) - y))
}
train = sgd(grad(loss), lr=0.1)
X
ids user.npy 1 2
ids item.npy 1 1
ones y.npy 2
for time in 1700000000 1700000100; do
  run 0 run pair.ctm train --feed user=user.npy --feed item=item.npy --feed y=y.npy --state pair \
    --time "$time"
done
run 0 table info pair
has 'rows that have not grown' "$out" '  rows       3, 2 of them one column wide'
has 'features without counting' "$out" '  features   user  4 occurrences, shows 4, clicks 4'
run 0 table info pair --count
has 'rows of a feature' "$out" '  features   user  2 rows, 4 occurrences, shows 4, clicks 4'
has 'and of the other' "$out" '             item  1 row, 4 occurrences, shows 4, clicks 4'
run 0 table get pair @t 1 --feature item
has 'an id of a feature has another key' "$out" '1 (key '
has 'its feature' "$out" '  feature    item'
[[ $out == *'one column'* ]] && fail 'item 1 has grown' "$out"
run 0 table get pair @t 1 --feature user
has 'the same id of the other feature' "$out" ' one column wide so far'
run 0 table get pair @t 1
has 'and of none' "$out" '1: no row'
run 1 table get pair @t 1 --feature itme
has 'a misspelt feature' "$err" 'pair: @t: there is no feature itme; did you mean item?'
run 0 table export pair @t user.csv --feature user
is 'ids of one feature' "$(tail -n +2 user.csv | cut -d, -f1 | sort | tr '\n' ' ')" '1 2 '
is 'columns that a row does not have are empty' "$(tail -n +2 user.csv | cut -d, -f3 | tr -d '\n')" ''
run 0 table export pair @t user2.npy --feature user
is 'in .npy they are zeros' "$out" '2 rows of commit 2 in user2.npy, keys in user2.keys.npy'
run 0 table export pair @t pair.csv --metadata
run 0 table import pair2 @t pair.csv --program pair.ctm
run 0 table export pair2 @t pair2.csv --metadata
cmp -s <(sort pair.csv) <(sort pair2.csv) || fail 'features and narrow rows come back' \
  "$(diff <(sort pair.csv) <(sort pair2.csv))"
printf '7,0.25,\n' >seven.csv
run 0 table import pair @t seven.csv --feature item --program pair.ctm
run 0 table get pair @t 7 --feature item
has 'an imported row of a feature' "$out" $' one column wide so far\n  embedding  0.25\n'
has 'knows it' "$out" '  feature    item'
run 0 table export pair @t pair.rows --store int8
run 0 table verify pair.rows
run 0 table verify pair
is 'no scratch files stay' "$(find . -name '*.tmp')" ''

report table

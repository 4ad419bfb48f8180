#!/usr/bin/env bash
# cli/data/data_test.sh CATAMARAN: `catamaran data` on files as people have them.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../test_helpers.sh"

golden=$source/catamaran/data/testdata/records_v1.rec

# ---- usage
for command in convert head stats check batches; do
  run 0 data "$command" --help
  has "help of $command says what it is for" "$out" 'Usage: catamaran data'
  has "help of $command has examples" "$out" 'Examples:'
  run 2 data "$command"
done
run 2 data
run 2 data haed
has 'a misspelt command' "$err" 'there is no command data haed; did you mean data head?'
run 3 data head nowhere.csv
has 'a missing file' "$err" 'nowhere.csv'
run 3 data head 'nowhere*.csv'
has 'a pattern that matches nothing' "$err" 'nowhere*.csv'

# ---- convert, and what comes back
cat >people.csv <<'X'
name,age,score
Ann,31,0.5
Bob,47,
"Eve, the third",19,-2.25
X
run 0 data convert people.csv people.rec
has 'says how many rows' "$out" '3 rows in people.rec ('
run 0 data head people.rec
is 'rows in columns, names and kinds above them' "$out" \
'name            age  score
string          i64    f32
Ann              31    0.5
Bob              47      -
Eve, the third   19  -2.25'
run 0 data head people.rec --json --skip 1
is 'rows as JSON' "$out" '{"name":"Bob","age":47,"score":null}
{"name":"Eve, the third","age":19,"score":-2.25}'
run 0 data head people.csv --json
csv=$out
run 0 data head people.rec --json
is 'the records have what the text had' "$out" "$csv"
run 0 data head people.rec --columns score,name -n 1 --json
is 'columns as asked for' "$out" '{"score":0.5,"name":"Ann"}'
run 1 data head people.rec --columns nmae
has 'a misspelt column' "$err" "people.rec: there is no column 'nmae'; did you mean 'name'?"
run 0 data head people.csv --print-schema
is 'the schema alone' "$out" 'name: string
age: i64
score: f32'

# ---- several files, and a schema
run 0 data head people.csv --print-schema
echo "$out" >people.schema
printf 'name,age,score\nZoe,5,1\n' >people2.csv
run 0 data convert people.csv people2.csv all.rec --schema people.schema
run 0 data convert 'people*.csv' pattern.rec --schema people.schema
checks=$((checks + 1))
cmp -s all.rec pattern.rec || fail 'a pattern names the same files'
run 0 data head all.rec people.rec --skip 3 -n 2 --columns name --json
is 'files follow one another' "$out" '{"name":"Zoe"}
{"name":"Ann"}'
sed 's/age: i64/age: ids/' people.schema >other.schema
run 0 data convert people.csv ids.rec --schema other.schema
run 1 data head people.rec ids.rec
has 'other columns are refused' "$err" "ids.rec: other columns than"

# ---- how text is read
printf '1;2 3\n4;\n' >semi.txt
printf 'a: f32\nb: ids\n' >ab.schema
run 0 data head semi.txt --format csv --separator ';' --header no --names a,b --schema ab.schema --json
is 'separator, names and kinds' "$out" '{"a":1.0,"b":[2,3]}
{"a":4.0,"b":[]}'
run 2 data head semi.txt --separator ';;'
has 'a separator is one character' "$err" '--separator ;;: wanted one character'

# ---- bad rows
printf 'x,y\n1,2\n3,oops\n5,6\n' >bad.csv
printf 'x: i64\ny: i64\n' >xy.schema
run 1 data convert bad.csv bad.rec --schema xy.schema
has 'the first bad row is an error with its line' "$err" 'bad.csv:3: '
is 'nothing is left behind' "$(ls bad.rec* 2>/dev/null)" ''
run 0 data convert bad.csv bad.rec --schema xy.schema --bad-rows 1
has 'a skipped row is reported' "$err" 'skipped: bad.csv:3: '
has 'and counted' "$err" '1 bad row was skipped'
has 'the others are there' "$out" '2 rows in bad.rec'
run 1 data check bad.csv --schema xy.schema
has 'check finds bad rows' "$err" 'bad.csv:3: '

# ---- a list of names ends with its word
run 0 data convert --columns name,age people.csv two.rec
run 0 data head two.rec --print-schema
is 'files may stand behind a list' "$(grep -c : <<<"$out")" 2

# ---- convert never takes an input for its output
run 2 data convert people.csv people2.csv
has 'OUT must be records' "$err" 'people2.csv: wanted a name that ends in .rec'
has 'the input is as it was' "$(cat people2.csv)" 'Zoe,5,1'
run 3 data convert people.csv nowhere/people.rec
has 'a directory that is not there' "$err" 'nowhere/people.rec'

# ---- stats
run 0 data stats people.csv
has 'rows' "$out" '3 rows'
has 'lengths of texts' "$out" '3 to 14, mean 6.667'
run 0 data stats people.rec --json
has 'smallest' "$out" '"min": -2.25'
has 'missing' "$out" '"missing": 1'
has 'mean' "$out" '"mean": -0.875'
run 0 data stats "$golden" --columns tags
has 'ids have no mean' "$out" 'tags    weighted_ids       63       482  -9185067773032379828  9210195064285636442        0 to 3, mean 1.593'

# ---- check
run 0 data check people.rec people.csv "$golden"
has 'records are whole' "$out" 'ok: people.rec: records, 3 rows'
has 'so is text' "$out" 'ok: people.csv: csv, 3 rows'
size=$(stat -c %s "$golden")
head -c $((size - 100)) "$golden" >cut.rec
{ head -c 5000 "$golden"; printf 'X'; tail -c +5002 "$golden"; } >flipped.rec
run 1 data check cut.rec flipped.rec people.rec
has 'a cut file' "$err" 'cut.rec: cut off'
has 'a changed byte names block, column and bytes' "$err" "flipped.rec: block 0, column '"
has 'the others are still looked at' "$out" 'ok: people.rec'
run 1 data check flipped.rec --json
has 'problems as JSON' "$out" '"ok": false'
run 3 data convert flipped.rec out.rec
is 'nothing is written from damaged records' "$(ls out.rec* 2>/dev/null)" ''

# ---- batches
run 0 data batches people.rec order --batch 2 --epochs 2 --shuffle 0
has 'how many' "$out" '6 rows of 4 batches in order'
run 0 data head order/score.npy --json
has 'rows of all epochs, in order' "$(tr -d ' \n' <<<"$out")" '{"x":0.5}{"x":null}{"x":-2.25}{"x":0.5}'
run 0 data head order/batches.npy --json
has 'where batches begin' "$(tr -d ' \n' <<<"$out")" '{"x":0}{"x":2}{"x":3}{"x":5}{"x":6}'
run 0 data head order/name.offsets.npy --json
has 'where texts begin' "$(tr -d ' \n' <<<"$out")" '{"x":0}{"x":3}{"x":6}{"x":20}'
run 2 data batches people.rec order
has 'no folder is written over' "$err" 'order: is there already'

report cli_data

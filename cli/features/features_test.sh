#!/usr/bin/env bash
# cli/features/features_test.sh CATAMARAN: `catamaran features` on small files.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../test_helpers.sh"

# ---- usage
for command in show fit apply check; do
  run 0 features "$command" --help
  has "help of $command has examples" "$out" 'Examples:'
done
run 2 features
run 2 features fitt
has 'a misspelt command' "$err" 'did you mean features fit?'
run 3 features apply nowhere.features --data x.csv
run 0 features show
has 'functions are listed' "$out" 'hash(x, salt='

cat >people.csv <<'X'
name,age,city
Ann,31,Rome
Bob,,Oslo
Eve,19,Rome
X
cat >cities.csv <<'X'
city,people
Rome,2.5
Oslo,0.5
X
cat >people.features <<'X'
input name: string, age: f32, city: string
file cities("cities.csv", key=city)
adult = age >= 20
age = normalize(age)
city = vocabulary(city)
people = cities[city].people
X

# ---- what is not fitted
run 1 features apply people.features --data people.csv
has 'says where and which command' "$err" 'people.features:4:7: normalize learns from data, and is not fitted yet: run `catamaran features fit people.features --data …`'

# ---- fit, and use it
run 0 features fit people.features --data people.csv
has 'says what was learned' "$out" 'normalize(age): 25, 6'
has 'and where it is' "$out" 'written to people.features.fit, hash '
cp people.features.fit first.fit
run 0 features fit people.features --data people.csv
is 'the same bytes again' "$(cmp first.fit people.features.fit 2>&1)" ''
run 0 features apply people.features --data people.csv
is 'rows on the screen' "$out" \
'adult  age  city  people
  f32  f32   i64     f32
    1    1     1     2.5
    0    0     2     0.5
    0   -1     1     2.5'
run 0 features show people.features
has 'kinds of outputs' "$out" 'city    i64'
has 'columns that are read' "$out" 'reads age, city'

# ---- the fitted file is enough, elsewhere
mkdir elsewhere && cp people.features.fit elsewhere/people.fit && cp people.csv elsewhere/
cd elsewhere || exit 1
run 0 features apply people.fit --data people.csv --json -n 1
is 'a row as JSON' "$out" '{"adult":1.0,"age":1.0,"city":1,"people":2.5}'
cd ..

# ---- to files
run 0 features apply people.features --data people.csv -o out.rec --outputs age,city
has 'says how many' "$out" '3 rows in out.rec, features '
run 0 data head out.rec -n 1
has 'records' "$out" 'age  city'
run 0 features apply people.features --data people.csv -o out.jsonl --where 'city == "Rome"'
has 'rows that are chosen' "$out" '2 rows in out.jsonl'
run 2 features apply people.features --data people.csv -o out.txt
has 'a file of no known kind' "$err" 'ends in .rec or .jsonl'

# ---- equal features of equal rows
cat >people.jsonl <<'X'
{"name": "Ann", "age": 31.0, "city": "Rome"}
{"city": "Oslo", "name": "Bob", "age": null}
{"name": "Eve", "age": 19, "city": "Rome"}
X
# The features file says nothing of the format, so that each file is read by its name.
run 0 features check people.features --data people.csv --against people.jsonl
has 'equal' "$out" '3 rows give the same features'
sed -i s/19/20/ people.jsonl
run 1 features check people.features --data people.csv --against people.jsonl
has 'the row and the output' "$err" "row 2: 'adult' is 0.0 and 1.0"

# ---- mistakes
echo 'x = hsh(name)' >bad.features
run 1 features show bad.features --data people.csv
has 'the place and a proposal' "$err" "bad.features:1:5: there is no function 'hsh'; did you mean 'hash'?"
echo 'x = hash(nam)' >bad.features
run 1 features apply bad.features --data people.csv
has 'the column and a proposal' "$err" "the data has no column 'nam'; did you mean 'name'?"
sed -i s/20/21/ people.features
run 1 features apply people.features --data people.csv
has 'a changed file' "$err" 'it was made of another text than people.features now has'

report cli_features

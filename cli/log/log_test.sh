#!/usr/bin/env bash
# cli/log/log_test.sh CATAMARAN SAMPLE_LOG: `catamaran log` on small logs.
sample_log=$(realpath "${2:?usage: TEST PROGRAM SAMPLE_LOG}")
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/../test_helpers.sh"

# ---- usage
for command in cat stats verify; do
  run 0 log "$command" --help
  has "help of $command has examples" "$out" 'Examples:'
done
run 2 log
run 2 log cut
has 'a misspelt command' "$err" 'there is no command log cut; did you mean log cat?'
run 3 log cat nowhere
has 'no directory' "$err" 'nowhere: there is no such directory'
mkdir empty
run 3 log stats empty
has 'no log' "$err" 'empty: there is no log here'

# ---- a log of every type
mkdir model
"$sample_log" model/log || fail 'sample_log'
run 0 log cat model
is 'every record is a line' "$(wc -l <out.txt)" 13
has 'offset, time, type and what it says' "$out" \
  '  2023-11-14 22:13:22 UTC  impression   id="r1" session="s1" rows=2 step=3 predictions=[0.5,0.25]'
has 'schemas' "$out" 'columns={"age":"f32","item":"ids"} labels=[{"label":"label","event":"click"'
has 'feedback' "$out" 'items=[{"id":"r1","row":1,"event":"click","value":1.0}]'
has 'refusals' "$out" 'refusal      step=1 why="the loss is NaN"'
has 'rollbacks' "$out" 'commit=4 commit_step=100 offset=0 first_skipped_step=1 last_skipped_step=1 skipped_examples=2'
has 'types that nobody knows' "$out" 'type 200     payload="01ff"'
run 0 log cat model/log --json --type example,step
is 'only these types' "$(wc -l <out.txt)" 2
has 'JSON' "$out" '"type":"step","bytes":4,"step":1,"examples":2}'
run 0 log cat model --id r1
is 'all about a request' "$(wc -l <out.txt)" 2
run 0 log cat model --type impression -n 1 --rows --json
has 'features' "$out" '"features":[{"age":31.0,"item":[3100]},{"age":19.5,"item":[1900]}]'
offset=$(sed 's/.*"offset":\([0-9]*\),.*/\1/' out.txt)
run 0 log cat model --from "$offset" -n 1 --rows
has 'from an offset, with the schema before it' "$out" 'features=[{"age":31.0'
run 3 log cat model --from $((offset + 1))
has 'not from the middle of a record' "$err" "at offset $((offset + 1))"
run 2 log cat model --from 99999
has 'not from beyond the end' "$err" '--from 99999: the log has offsets from 0 to '
run 2 log cat model --type clicks
has 'types are listed' "$err" '--type clicks: there is no such type; there are schema, example, '
run 0 log stats model --segments
has 'counts' "$out" 'impression         2  144 bytes'
has 'all' "$out" 'all               13  383 bytes'
has 'file by file' "$out" 'model/log/00000000000000000000.log'
run 0 log stats model --json
has 'JSON' "$out" '"id": "000000000000abcd"'
run 0 log verify model
has 'whole' "$out" 'ok: model/log: 13 records in '

# ---- follow, while it grows
timeout 30 "$catamaran" log cat model --follow -n 14 >followed.txt &
follower=$!
"$sample_log" model/log || fail 'sample_log again'
wait "$follower" || fail 'following ends with the last record asked for'
is 'what was appended is printed' "$(wc -l <followed.txt)" 14

# ---- damage
golden=$source/catamaran/stream/testdata/log_v1
run 0 log verify "$golden"
has 'the golden log' "$out" '20 records in 4 segments'
run 3 log cat "$golden" --from 0
has 'other bytes than a model writes' "$err" 'the record at offset 24: '
run 0 log cat "$golden" --raw -n 2
has 'can still be seen' "$out" 'payload="'
cp -r "$golden" damaged
{ head -c 100 "$golden/00000000000000000000.log"; printf X
  tail -c +102 "$golden/00000000000000000000.log"; } >damaged/00000000000000000000.log
run 1 log verify damaged
has 'file and place' "$err" 'damaged/00000000000000000000.log: damaged at offset 24 (byte 88 of the file)'
run 1 log stats damaged --json
has 'the rest is counted' "$out" '"records": 19'
cp -r "$golden" missing
rm missing/00000000000000000284.log
run 1 log verify missing
has 'a missing segment' "$err" 'the next segment begins at 599'
run 1 log verify missing --json
has 'problems as JSON' "$out" '"ok": false'
cp -r "$golden" cut
truncate -s -3 cut/00000000000000000864.log
run 0 log verify cut
has 'a cut end is no damage' "$out" 'of a record that is being written or was cut off'

report cli_log

#!/usr/bin/env bash
# cli/replay_test.sh CATAMARAN KILL_LEARNER: `catamaran replay` on the log of a model whose process was
# killed.
kill_learner=$(realpath "${2:?usage: TEST PROGRAM KILL_LEARNER}")
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/test_helpers.sh"

# ---- usage
run 0 replay --help
has 'help has examples' "$out" 'Examples:'
run 3 replay nowhere
has 'no directory' "$err" 'nowhere/log: '

# Learns from number FROM on, and dies when LINES examples and feedback were acknowledged.
learn_and_die() {  # FROM LINES
  : >acknowledged.txt
  "$kill_learner" model "$1" >acknowledged.txt 2>learner.txt &
  local process=$!
  for _ in $(seq 600); do
    [[ $(wc -l <acknowledged.txt) -ge $2 ]] && break
    sleep 0.1
  done
  kill -9 "$process" || fail "it had ended: $(cat learner.txt)"
  wait "$process" 2>/dev/null
}
mkdir model
learn_and_die 0 400
learn_and_die 300 200

# ---- a log that was cut is found by `log verify`, as `serve` finds it
run 0 log verify model
has 'fits the newest commit' "$out" 'has learned from it up to offset '
cp -r model cut
# Segments are named by their first offset. What is left ends before the commit's.
read_up_to=$(sed -n 's/.* up to offset \([0-9]*\).*/\1/p' <<<"$out")
for segment in cut/log/*.log; do
  first=$((10#$(basename "$segment" .log)))
  if [ "$first" -ge "$read_up_to" ]; then
    rm "$segment"
  elif [ $((first + $(stat -c %s "$segment"))) -ge "$read_up_to" ]; then
    truncate -s $(((read_up_to - first) / 2)) "$segment"
  fi
done
run 1 log verify cut
has 'the commit reaches further' "$err" 'cut/log: the log ends at '
has 'and says how far' "$err" 'and a commit has learned from records up to '
run 1 log verify cut/log --json
has 'also by the path of the log itself' "$out" '"ok": false'
mkdir alone
cp -r cut/log alone/log
run 0 log verify alone
rm -r cut alone

# ---- bit for bit
run 0 replay model
has 'to the newest commit' "$out" 'the state is that of commit '
has 'the same' "$out" ', bit for bit'
has 'speed' "$out" ' times as fast as they came'
newest=$(sed -n 's/.*that of commit \([0-9]*\),.*/\1/p' out.txt)
run 0 replay model --to "commit:$newest" --out again
has 'saved' "$out" 'saved in again'
run 0 table diff again model/state @taste
run 2 replay model --out again
has 'nothing is overwritten' "$err" 'again holds a state already'
run 0 replay model --to step:1 --out first
has 'steps' "$out" ', 1 step of '
run 0 replay model --to end

# ---- what cannot be
run 1 replay model --to step:1000000
has 'no such step' "$err" 'there is no step 1000000 up to there; the last is '
run 1 replay model --to commit:1000000
has 'no such commit' "$err" 'the log does not know of a commit 1000000'
run 2 replay model --to later
has 'no number' "$err" "'later' is not a whole number"
run 1 replay model --from 999999
has 'from no commit' "$err" 'there is no commit 999999'
# Other initial values are other bits, and it says so.
run 1 replay model --seed 12345
has 'a difference' "$out" "the state differs from that of commit $newest: "

# ---- another version of the program learns from the same log
sed 's/lr=0.02/lr=0.05/' model/program.ctm >faster.ctm
run 0 replay model --program faster.ctm --to end --out faster
has 'it says so' "$err" 'note: the log was written with another program'
has 'and learns' "$out" 'saved in faster'

report cli_replay

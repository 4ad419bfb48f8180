#!/usr/bin/env bash
# A short run of `catamaran demo`, and the commands that it ends with. Nothing here is about speed.
# shellcheck source=../test_helpers.sh
. "$(dirname "$0")/../test_helpers.sh" "$1"

# ---- all of it
run 0 demo --seconds 4 --rate 60 --history 10 --connections 3
has 'the program is shown' "$out" 'train = adam(grad(loss)'
has 'one click is learned from' "$out" 'infer: the same again: '
has 'the click moved the probability up' "$out" '(+0.'
has 'the service is killed' "$out" 'SIGKILL to the service (process '
has 'and comes back' "$out" '; it answers again after '
page=$(sed -n 's/^  watch it: //p' out.txt)
has 'there is a page' "$page" 'http://127.0.0.1:'
has 'its address stands over the traffic' "$out" "  the page: $page"
has 'and is the same after the kill' "$out" "  the page goes on: $page"
has 'there is a verdict' "$out" 'The verdict'
has 'what --keep does' "$out" 'with --keep it goes on'
audits=$(grep -c '^  clicks acknowledged' out.txt)
is 'what became of clicks is said after the crash and at the end' "$audits" 2
while read -r _ _ acknowledged _ learned _ lost _ _ twice; do
  [ "${acknowledged%,}" -gt 1 ] || fail 'no click was acknowledged' "$out"
  is 'all that was acknowledged was learned' "${learned%,}" "${acknowledged%,}"
  is 'nothing was lost' "${lost%,}" 0
  is 'nothing was learned twice' "$twice" 0
done < <(grep '^  clicks acknowledged' out.txt)
has 'how fresh it is' "$out" 'from acknowledged to visible'
[[ $out == *$'\x1b'* ]] && fail 'escape codes in a file'
is 'nothing is left behind' "$(ls -A)" "$(printf 'err.txt\nout.txt')"

# ---- the user's own CSV, in the three commands
mapfile -t commands < <(tail -n 3 out.txt)
{
  echo user,group,topic,story,click
  for ((i = 0; i < 300; ++i)); do
    echo "$((i % 20)),$((i % 4)),$((i % 3)),$((i % 30)),$(((i % 30) < 10))"
  done
} >clicks.csv
ln -s "$source/examples" examples
read -r _ first <<<"${commands[0]}"
read -r _ second <<<"${commands[1]}"
# shellcheck disable=SC2086
run 0 $first
# shellcheck disable=SC2086
"$catamaran" $second --http 127.0.0.1:0 --grpc off >served.txt 2>&1 &
server=$!
for ((i = 0; i < 600; ++i)); do
  grep -qs '^ready' served.txt && break
  kill -0 $server 2>/dev/null || break
  sleep 0.1
done
port=$(sed -n 's|^HTTP  http://127.0.0.1:||p' served.txt)
third=${commands[2]/localhost:8000/127.0.0.1:${port:-0}}
has 'the third command asks the service' "$third" 'curl -s 127.0.0.1:'
answer=$(eval "$third")
has 'the service answers a row' "$answer" '"name":"probability"'
kill $server
wait $server
is 'the service ends in order' "$?" 0

# ---- --keep
mkdir kept && cd kept || exit 1
"$catamaran" demo --keep --seconds 1 --rate 40 --history 1 >kept.txt 2>&1 &
demo=$!
for ((i = 0; i < 600; ++i)); do
  grep -qs '^Serving at' kept.txt && break
  kill -0 $demo 2>/dev/null || break
  sleep 0.1
done
page=$(sed -n 's/^Serving at \(.*\) until Ctrl-C$/\1/p' kept.txt)
answer=$(curl -s "${page:-http://nowhere.invalid}/v2/models/feed/ready" -o /dev/null -w '%{http_code}')
is 'it goes on serving' "$answer" 200
kill $demo
wait $demo
is 'it ends in order' "$?" 0
has 'and says so' "$(cat kept.txt)" 'ended'
cd ..

run 2 demo --seconds 0
run 2 demo trainign
has 'a misspelt demo' "$err" 'did you mean demo training?'

report cli_demo

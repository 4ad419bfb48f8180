# models/prepare_helpers.sh: how every models/GROUP/prepare begins; sourced by it, with its arguments.
#
#   here       the folder of the script
#   data, out  its arguments: the folder of the raw data, and the one that gets the records; made
#   work       a folder for what is between them, on the same disk; it goes with the script
#   catamaran  the program: $CATAMARAN, or what the checkout's release build made
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# != 2 ]; then
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2  # the comment that it begins with
  exit 2
fi
data=$1 out=$2
catamaran=${CATAMARAN:-$here/../../build/release/bin/catamaran}
if [ ! -d "$data" ]; then
  echo "$0: there is no folder $data" >&2
  exit 3
fi
mkdir -p "$out"
work=$(mktemp -d "$out/prepare.XXXXXX")
trap 'rm -rf "$work"' EXIT

# need FILE...: ends the script if DATA lacks one of them.
need() {
  local file
  for file in "$@"; do
    [ -f "$data/$file" ] || { echo "$0: there is no $data/$file" >&2; exit 3; }
  done
}

# fit_and_apply FEATURES [OPTION...]: fits here/FEATURES to work/train.* and makes records of work/train.*,
# valid.* and test.* by it, all with these options. The fitted file and the records go to `out` at the end.
fit_and_apply() {
  local features=$1 part
  shift
  cp "$here/$features" "$work/"
  "$catamaran" features fit "$work/$features" --data "$work"/train.[ct]sv "$@"
  for part in train valid test; do
    "$catamaran" features apply "$work/$features" --data "$work/$part".[ct]sv "$@" -o "$work/$part.rec"
  done
  mv "$work/$features.fit" "$work"/{train,valid,test}.rec "$out/"
}

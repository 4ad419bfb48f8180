#!/usr/bin/env bash
# cli/cli_test.sh CATAMARAN: runs the real program and compares what it prints and how it ends.
# shellcheck source=cli/test_helpers.sh
source "$(dirname "$0")/test_helpers.sh"

# ---- check
run 0 check "$source"/examples/*.ctm "$source"/examples/*/*.ctm
is 'every example is listed' "$(grep -c '^ok: ' out.txt)" \
  "$(find "$source/examples" -name '*.ctm' | wc -l)"

cat >bad.ctm <<'X'
program bad
param @w : f32[3, 2] = normal(std=0.1)
fn f(x: f32[B, 4]) -> f32[B, 2] {
  return matmul(x, @w)
}
fn g(x: f32[B, 4]) -> f32[B, 4] {
  return rellu(x)
}
X
run 1 check bad.ctm
has 'a misspelt op is found' "$err" 'bad.ctm:7: '
has 'its line is shown' "$err" $'    7 |   return rellu(x)\n      |          ^^^^^'
has 'a suggestion is made' "$err" 'relu'
is 'nothing is printed to stdout' "$out" ''

cat >shape.ctm <<'X'
program shape
param @w : f32[3, 2] = normal(std=0.1)
fn f(x: f32[B, 4]) -> f32[B, 2] {
  return matmul(x, @w)
}
X
run 1 check shape.ctm
is 'a wrong shape shows the line and both sides' "$err" \
  "shape.ctm:4: matmul: inner dimensions differ: 4 and 3
    4 |   return matmul(x, @w)
      |          ^^^^^^
  x  : f32[B, 4]      an argument
  @w : f32[3, 2]      declared at shape.ctm:2"

run 1 check shape.ctm "$source/examples/spiral.ctm"
has 'good files are still checked' "$out" 'spiral.ctm: '

run 3 check nowhere.ctm
has 'a missing file is named' "$err" 'nowhere.ctm'

# ---- usage
run 2
run 2 shwo
has 'a misspelt command' "$err" 'there is no command shwo; did you mean show?'
run 2 check
has 'help is offered' "$err" 'catamaran check --help'
run 2 show shape.ctm --format xml
run 0 --version
has 'version' "$out" 'catamaran 0.'
run 0 --help
has 'help has examples' "$out" 'Examples:'
has 'help has exit codes' "$out" 'Exit codes'
for command in check show run profile ops builders demo; do run 0 "$command" --help; done

run 0 --max-isa plain check "$source/examples/spiral.ctm"
run 0 check "$source/examples/spiral.ctm" --max-isa avx512
run 2 --max-isa avx3 check "$source/examples/spiral.ctm"
has 'instruction sets are listed' "$err" 'avx2'

# ---- show
for file in "$source"/examples/*.ctm; do
  run 0 show "$file"
  cp out.txt shown.ctm
  run 0 check shown.ctm
  run 0 show shown.ctm
  is "what is shown of $(basename "$file") reads back equal" "$out" "$(cat shown.ctm)"
  run 0 show "$file" --expand
  cp out.txt flat.ctm
  run 0 check flat.ctm
  run 0 show flat.ctm --expand
  is "the flat form of $(basename "$file") reads back equal" "$out" "$(cat flat.ctm)"
done
spiral=$source/examples/spiral.ctm
run 0 show "$spiral" --fn infer
has 'one function' "$out" 'fn infer(x: f32[B, 2])'
[[ $out == *'fn loss'* ]] && fail 'only one function was asked for' "$out"
run 0 show "$spiral" --fn train --expand
has 'an expanded function holds its updates' "$out" 'update(@net.fc1.w'
run 0 show "$spiral" --fn loss --types
has 'types are shown' "$out" 'bool[B]'
run 0 show "$spiral" --fn infer --cost --dim B=10
has 'the cost of a product is two operations a term' "$out" '81.9 k'
run 2 show "$spiral" --fn infer --cost
has 'sizes are asked for' "$err" '--dim B='
run 2 show "$spiral" --cost --dim B=many
run 0 show "$spiral" --format dot
has 'a graph' "$out" 'digraph "spiral" {'
run 0 show "$spiral" --format json --cost --dim B=10
has 'json' "$out" '"program": "spiral"'
run 1 show "$spiral" --fn infr
has 'a misspelt function' "$err" 'infer'

# ---- ops and builders
run 0 ops
has 'ops are listed' "$out" '  matmul'
run 0 ops matmul
has 'an op says whether it has a gradient' "$out" 'Gradient'
run 2 ops matmull
has 'a suggestion for an op' "$err" 'did you mean matmul?'
run 0 builders
has 'builders are listed' "$out" 'adam'
run 0 builders adam
run 2 builders adamm

# ---- run
cat >double.ctm <<'X'
program double
var @seen : i64[] = 0
param @w : f32[2] = ones
fn f(x: f32[B, 2]) -> (y: f32[B, 2], total: f32[]) {
  return x * 2.0, sum(x * @w)
}
fn loss(x: f32[B, 2]) -> (loss: f32[]) {
  return mean(square(x * @w))
}
fn count(x: f32[B, 2]) -> i64[] {
  commit { write(@seen, @seen + 1) }
  return @seen + 1
}
train = sgd(grad(loss), lr=0.1)
X
npy x.npy '<f4' '(1, 2)' 00 00 80 3f 00 00 00 40            # 1 2
npy twice.npy '<f4' '(1, 2)' 00 00 00 40 00 00 80 40        # 2 4
npy wide.npy '<f4' '(1, 3)' 00 00 80 3f 00 00 00 40 00 00 80 3f
npy f64.npy '<f8' '(1, 2)' 00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 f0 3f
printf 'not an array' >text.npy

run 0 run double.ctm f --feed x=x.npy --fetch y=y.npy
is 'scalars that are not fetched are printed' "$out" 'total = 3'
cmp -s y.npy twice.npy || fail 'the fetched file is not 2 4'
run 0 run double.ctm f --feed x=x.npy --threads 2
is 'other results are described' "$out" $'y : f32[1, 2]\ntotal = 3'
run 0 run double.ctm loss.pure --feed x=x.npy
is 'a pure function' "$out" 'loss = 2.5'
run 0 run double.ctm train --feed x=x.npy
is 'without --state nothing is kept' "$out" $'loss = 2.5\nstep 1, not saved (no --state)'

run 0 run double.ctm count --feed x=x.npy --state state
is 'the first step' "$out" $'out0 = 1\nstep 1, saved in state'
run 0 run double.ctm count --feed x=x.npy --state state
is 'the state advances' "$out" $'out0 = 2\nstep 2, saved in state'
run 0 run double.ctm train --feed x=x.npy --state state
is 'a training step' "$out" $'loss = 2.5\nstep 3, saved in state'
run 0 run double.ctm loss --feed x=x.npy --state state
first=$out
[ "$first" != 'loss = 2.5' ] || fail 'training did not change the loss'
run 0 run double.ctm train --feed x=x.npy --state state
run 0 run double.ctm loss --feed x=x.npy --state state
[ "$out" != "$first" ] || fail 'the second step did not change the loss'
is 'two commits stay' "$(find state -name '*.safetensors' | wc -l)" 2

run 1 run double.ctm f
is 'a missing feed is asked for' "$err" $'f needs more arguments:\n  x : f32[B, 2]   --feed x=FILE.npy'
run 1 run double.ctm f --feed z=x.npy
has 'an unknown argument' "$err" 'f has no argument z'
run 1 run double.ctm f --feed x=wide.npy
has 'a wrong shape' "$err" 'argument x : f32[B, 2], declared at double.ctm:4'
run 1 run double.ctm f --feed x=f64.npy
has 'a wrong element type' "$err" 'found f64[1, 2]'
run 1 run double.ctm f --feed x=text.npy
has 'not an array' "$err" 'text.npy: '
run 3 run double.ctm f --feed x=nowhere.npy
has 'a missing feed file' "$err" 'nowhere.npy'
run 1 run double.ctm f --feed x=x.npy --fetch z=z.npy
has 'an unknown result' "$err" 'f has no result z'
run 2 run double.ctm f --feed x
has 'a feed without a file' "$err" '--feed x: wanted NAME=VALUE'
run 2 run double.ctm f --feed x=x.npy --feed x=y.npy
run 1 run double.ctm ff --feed x=x.npy
run 3 run double.ctm f --feed x=x.npy --state empty
has 'no state there' "$err" 'empty: no state was saved here'
run 3 run double.ctm f --feed x=x.npy --fetch y=no/such/folder/y.npy
run 2 run double.ctm count --feed x=x.npy --state state --seed 7
has 'the seed stays' "$err" 'was made with seed 1'
run 2 run double.ctm f --feed x=x.npy --allow-new

# A changed program.
sed -e 's/@seen/@count/g' -e 's/ones$/ones\nparam @b : f32[2]/' double.ctm >changed.ctm
run 1 run changed.ctm f --feed x=x.npy --state state
is 'what changed is listed with both lines' "$err" \
  "state: the saved state does not fit the program:
  new        @count : var i64[], declared at changed.ctm:2; renamed? seen=count
  new        @b : param f32[2], declared at changed.ctm:4
  missing    @seen : var i64[], declared at double.ctm:2 when it was saved
It was not loaded. To load it:
  allow-new: what is new keeps its initial value
  allow-missing: what the program no longer has is left out
  rename a=b: what was saved as @a is now @b"
run 1 run changed.ctm f --feed x=x.npy --state state --allow-new
run 0 run changed.ctm f --feed x=x.npy --state state --allow-new --allow-missing
run 0 run changed.ctm count --feed x=x.npy --state state --allow-new --rename seen=count
has 'the renamed counter goes on' "$out" 'out0 = 3'
run 0 run changed.ctm count --feed x=x.npy --state state
has 'and is saved under its new name' "$out" 'out0 = 4'
run 1 run changed.ctm f --feed x=x.npy --state state --rename sene=count

# A damaged state.
newest=$(ls -v state/commit-* | tail -1)
printf 'x' >>"$newest"
run 0 run changed.ctm f --feed x=x.npy --state state
has 'damage is found' "$err" "$newest: not the manifest of a state"
has 'the commit before is loaded' "$err" 'was loaded instead'
for manifest in state/commit-*; do printf 'x' >>"$manifest"; done
run 3 run changed.ctm f --feed x=x.npy --state state
has 'no commit is whole' "$err" 'state: no commit is whole:'

# A refused step.
cat >guarded.ctm <<'X'
program guarded
var @n : i64[] = 0
fn step(x: f32[2]) -> f32[] {
  s = sum(x)
  commit {
    guard(s < 10.0)
    write(@n, @n + 1)
  }
  return s
}
X
npy large.npy '<f4' '(2,)' 00 00 20 41 00 00 20 41  # 10 10
npy small.npy '<f4' '(2,)' 00 00 80 3f 00 00 80 3f  # 1 1
run 0 run guarded.ctm step --feed x=small.npy --state guarded
run 1 run guarded.ctm step --feed x=large.npy --state guarded
has 'a refused step is said' "$err" 'a guard refused the step; the state has not changed'
run 0 run guarded.ctm step --feed x=small.npy --state guarded
has 'and not counted' "$out" 'step 2'

# Ragged arguments.
cat >ragged.ctm <<'X'
program ragged
fn f(x: f32[B, *T, 1]) -> (twice: f32[B, *T, 1]) {
  return x * 2.0
}
X
npy values.npy '<f4' '(2, 1)' 00 00 80 3f 00 00 00 40
npy offsets.npy '<i8' '(3,)' 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
run 0 run ragged.ctm f --feed x=values.npy,offsets.npy --fetch twice=v.npy,o.npy
cmp -s o.npy offsets.npy || fail 'the offsets come back'
run 1 run ragged.ctm f --feed x=values.npy
run 1 run double.ctm f --feed x=x.npy,offsets.npy
has 'offsets of a dense argument' "$err" 'is not ragged'

# ---- libraries of ops
cat >swish.ctm <<'X'
program p
fn f(x: f32[N]) -> f32[N] { return swish(x) }
X
plugin=$(dirname "$catamaran")/sample_plugin.so
run 1 check swish.ctm
run 0 check --load "$plugin" swish.ctm
run 0 --load "$plugin" check swish.ctm
run 0 ops swish --load "$plugin"
has 'an op of a library is explained' "$out" 'swish'
run 3 check --load nothing.so swish.ctm
has 'a library that is not there' "$err" 'nothing.so'

# ---- import
cat >linear.ctm <<'X'
program linear
fc = linear(2, 3)
fn infer(x: f32[B, 2]) -> f32[B, 3] { return fc(x) }
X
header='{"weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"bias":{"dtype":"F32","shape":[3],"data_offsets":[24,36]}}'
{
  printf "$(printf '\\x%02x' "${#header}")"'\x00\x00\x00\x00\x00\x00\x00'
  printf '%s' "$header"
  printf '\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00\xc0\x40'
  printf '\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x00'
} >torch.safetensors
printf 'weight -> @fc.w transposed\nbias -> @fc.b\n' >torch.names
run 0 import linear.ctm torch.safetensors --names torch.names --out imported
has 'import says what it did' "$out" '2 of 2 tensors are states of linear now, saved in imported'
npy ones.npy '<f4' '(1, 2)' 00 00 80 3f 00 00 80 3f
run 0 run linear.ctm infer --state imported --feed x=ones.npy --fetch out0=sums.npy
is 'imported weights are used: 1 + 2, 3 + 4 + 1, 5 + 6' "$(tail -c 12 sums.npy | od -An -tf4 | xargs)" '3 8 11'
run 2 import linear.ctm torch.safetensors --names torch.names --out imported
has 'a state is not written over' "$err" 'imported holds a state already'
printf 'weight -> @fc.w\nbias -> @fc.b\n' >wrong.names
run 1 import linear.ctm torch.safetensors --names wrong.names --out other
has 'shapes that differ are named' "$err" 'weight is f32[3, 2], @fc.w is f32[2, 3]'
run 3 run linear.ctm infer --state other --feed x=ones.npy
printf 'weight fc.w\n' >wrong.names
run 1 import linear.ctm torch.safetensors --names wrong.names --out other
has 'a line that cannot be read' "$err" 'wrong.names:1: '
run 3 import linear.ctm nowhere.safetensors --out other

# ---- demo training; demo/demo_test.sh has the other
run 0 demo training --out demo --steps 6000
has 'the demo learns' "$out" ' % of 2000 held-out points are right'
accuracy=$(sed -n 's/^\([0-9]*\)\.[0-9]* % of 2000.*/\1/p' out.txt)
[ "${accuracy:-0}" -ge 95 ] || fail "the demo's accuracy is ${accuracy:-unknown} %" "$out"
[[ $out == *$'\x1b'* ]] && fail 'escape codes in a file'
sed -n "s|^  $catamaran ||p" out.txt >commands.txt
is 'the demo ends with commands' "$(wc -l <commands.txt)" 5
while read -r -a command; do run 0 "${command[@]}"; done <commands.txt

# ---- profile
COLUMNS=250 run 0 profile "$source/examples/mlp.ctm" train --dim B=4 --runs 3
has 'runs are counted' "$out" 'train: 3 runs of '
has 'the machine is measured' "$out" 'GFLOP/s in products of matrices'
has 'ops are shown with their kernels' "$out" 'matmul: '
has 'lines are shown with what stands there' "$out" 'net  = mlp('
has 'gradients are told apart' "$out" 'net backward'
is 'sizes that were given need no note' "$err" ''
run 0 profile "$source/examples/mlp.ctm" infer --runs 1 --by op --json
has 'sizes that were not given are said' "$err" '--dim B=32'
has 'JSON has them too' "$out" '"B": 32'
run 0 profile "$source/examples/ctr.ctm" train --dim B=8 --runs 2 --threads 2 --ready-ops \
  --timeline line.json
has 'the timeline is a trace' "$(head -c 300 line.json)" '"traceEvents":['
has 'memory is in it' "$(cat line.json)" '"memory (MB)","ph":"C"'
has 'ops are in it' "$(cat line.json)" '"cat":"backward","ph":"X"'
COLUMNS=80 run 0 profile "$source/examples/ctr.ctm" train --dim B=8 --runs 2
is 'lines fit the terminal' "$(awk 'length($0) > 84' out.txt)" ''
run 2 profile "$source/examples/mlp.ctm" train --dim C=4
has 'a dimension that does not exist' "$err" 'no argument of train has a dimension C; there is B'
run 1 profile "$source/examples/mlp.ctm" trian
run 3 profile "$source/examples/mlp.ctm" train --runs 1 --timeline nowhere/line.json
run 3 profile "$source/examples/mlp.ctm" infer --runs 1 --state nowhere

report cli

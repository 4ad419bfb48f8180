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
    [[ -e $source/models/$model.recipe ]] || fail "$model has no recipe"
    run 0 check "$program"
    rm -rf run
    run 0 train "$program" --data rows.jsonl --schema rows.schema --valid rows.jsonl --batch 8 --epochs 1 \
      --out run --log-every 1 --quiet
    # Three steps with finite losses (JSON has null for others), then a validation.
    is "$model: steps with a finite loss" "$(grep -c '"kind":"train".*"loss":[0-9-]' run/metrics.jsonl)" 3
    is "$model: a validation" "$(grep -c '"kind":"valid"' run/metrics.jsonl)" 1
    is "$model: no step was refused" "$(grep -c '"refused"' run/metrics.jsonl)" 0
  done
done

params movielens/lr 3
params movielens/dlrm 7345

report models

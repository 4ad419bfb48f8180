// data/row_transform.h
//
// A function from rows to rows: of blocks of one schema to blocks of another, row for row. Training
// and serving use the same one, so that a model sees at serving what it learned from.
//
// Thread safety: immutable; Apply may run on many threads at once, each with blocks of its own.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/data/schema.h"

namespace catamaran {

class RowTransform {
 public:
  virtual ~RowTransform() = default;

  // Of the blocks that Apply makes.
  virtual const Schema& schema() const = 0;

  // The columns that it reads, in no particular order. Others may be left out of what Apply gets.
  virtual std::vector<std::string> inputs() const = 0;

  // Of all that decides its results. It is the same on every machine and may be stored.
  virtual uint64_t hash() const = 0;

  // `out` becomes as many rows as `in` has; what was in it goes, its memory is used again. A row
  // that cannot be transformed is an Error that says which (its number in the block, from 0, and
  // the column) and why; then nothing is known of `out`.
  virtual void Apply(const RowBlock& in, RowBlock& out) const = 0;

  // The features that it knows the range of (borders, what was seen in fitting, words that there
  // are), by the names of columns or of what is made of them.
  virtual std::vector<std::string> ranged() const { return {}; }
  // As Apply; adds to outside[i] in how many rows ranged()[i] is there and outside of its range.
  // REQUIRES: outside.size() == ranged().size().
  virtual void ApplyAndCount(const RowBlock& in, RowBlock& out,
                             std::span<int64_t> /*outside*/) const {
    Apply(in, out);
  }
};

}  // namespace catamaran

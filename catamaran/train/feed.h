// train/feed.h
//
// From rows to arguments: which columns feed which argument of a function, and the arguments of one
// block of rows. An argument takes the column of its name, or those that the caller names:
//
//   an argument of type       takes
//   f32[B], f32[B, 28, 28]    dense columns with as many elements a row
//   u64[B, *T]                ids, the bytes of strings, dense columns of one axis
//   u64[B, 26]                the same where every row has exactly 26
//   f32[B, *T], name x_weights   the weights of the weighted ids `x`, if there is no such column
//   f32[B], name weight       ones, if there is no such column
//
// Several columns stand side by side. Numbers are converted where that loses nothing that was
// meant: u8 to all; i64 to all (to i32 and u8 what fits); f32 to f64 and to integers if it is
// whole. i64 is fed as u64, and f32 as f32, without a copy.
//
// Thread safety: a FeedBinding is immutable. A Feeder is used by one thread at a time.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/exec/executable.h"
#include "catamaran/ir/program.h"

namespace catamaran {

struct FeedOptions {
  // By argument: its columns, where they are not the one of its name.
  std::map<std::string, std::vector<std::string>> bind;
  // Arguments that the caller feeds by itself.
  std::set<std::string> given;
  // What the rows are called in errors: "clicks.rec".
  std::string data = "the data";
};

// One argument and where it comes from.
struct BoundArgument {
  struct Part {
    int column = 0;
    bool weights = false;  // of weighted ids: not the ids
  };
  std::string name;
  Type type;
  Location at;
  std::vector<Part> parts;
  std::vector<std::string> columns;  // by part
  bool given = false;                // by the caller: no parts
  bool ones = false;                 // no parts

  // "ids : u64[B, 26]" and "column ids (ids)".
  std::string ArgumentText() const;
  std::string SourceText(const Schema& schema) const;
};

class FeedBinding {
 public:
  // Throws a ProgramError at the arguments' lines that says all that does not fit: a column that is
  // missing (with those that there are), of a kind or width that the argument cannot take.
  FeedBinding(const Program& flat, const Function& function, const Schema& schema,
              FeedOptions options = {});

  const std::vector<BoundArgument>& arguments() const { return arguments_; }
  const Schema& schema() const { return schema_; }
  // All columns that are used, each once, in the order of the schema.
  std::vector<std::string> Columns() const;
  // "train: argument ids : u64[B, 26], declared at m.ctm:3": how errors of an argument begin.
  std::string Describe(const BoundArgument& argument) const;

 private:
  std::string function_;
  Schema schema_;
  std::vector<BoundArgument> arguments_;
  std::shared_ptr<SourceTable> sources_;
};

class Feeder {
 public:
  // `binding` outlives it.
  explicit Feeder(const FeedBinding& binding);

  // By argument; good until the next call, and as long as the block. Those that the caller feeds
  // are empty. An Error that names argument and row if a value cannot be fed. REQUIRES: the block
  // has the binding's schema.
  std::span<FeedValue> Feed(const RowBlock& block);

 private:
  struct Memory {
    std::vector<std::byte> values;
    std::vector<int64_t> offsets;
  };
  void FeedDense(const BoundArgument& argument, const RowBlock& block, Memory& memory,
                 FeedValue& feed);
  void FeedRagged(const BoundArgument& argument, const RowBlock& block, Memory& memory,
                  FeedValue& feed);

  const FeedBinding& binding_;
  std::vector<FeedValue> feeds_;
  std::vector<Memory> memory_;
};

}  // namespace catamaran

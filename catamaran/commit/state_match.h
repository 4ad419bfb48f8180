// commit/state_match.h
//
// Which saved value goes to which state of a program that may have changed since. Values are
// known by path: equal path and type load. What is new (in the program only), missing (in the
// file only) or different (in both, with another kind or type) is listed with the lines of both
// declarations, and refused unless it is allowed.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "catamaran/ir/program.h"

namespace catamaran {

// One declaration, now or when the state was saved.
struct SavedDecl {
  std::string path;  // without @
  StateKind kind = StateKind::kParam;
  // All that has to be equal for the value to fit: "f32[16, 4]"; of a table
  // "u64 -> f32[16], rowwise_adagrad, shared row".
  std::string layout;
  std::string at;  // "ctr.ctm:7"
  // How a table keeps the numbers of its rows: "f32", "bf16", "int8"; has to be equal too. Empty:
  // it is no table, or was saved when this was not written down.
  std::string store = {};
};

// The params, vars and tables of a flat program, in order.
std::vector<SavedDecl> DeclarationsOf(const Program& flat);

struct MatchOptions {
  bool allow_new = false;      // they keep their initial value
  bool allow_missing = false;  // they are left out
  // From the path in the file to the path in the program. A path also stands for all that lies
  // under it: fc1=hidden renames @fc1.w and @fc1.b.
  std::map<std::string, std::string> renames;
};

struct StateMatch {
  struct Pair {
    std::string saved, now;
  };
  std::vector<Pair> loaded;
  std::vector<std::string> initialised;  // new, and different ones where both are allowed
  std::vector<std::string> left_out;     // paths in the file
};

// A different value is a missing and a new one: it is initialised when both are allowed. Throws
// an Error that begins with `source` and lists everything that is not allowed.
StateMatch MatchState(const std::vector<SavedDecl>& saved, const std::vector<SavedDecl>& now,
                      const MatchOptions& options, const std::string& source);

}  // namespace catamaran

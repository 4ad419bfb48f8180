// transform/state_selection.h
//
// A list of states as a builder's argument: `[@fc1.b, "tower.*", "*.b"]`. A state is itself; a
// string is a path in which each * stands for any text, points included.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/builder_set.h"

namespace catamaran {

class StateSelection {
 public:
  // Of a list, or of one state or string; an empty Attr selects nothing. Reports anything else,
  // calling the argument `name`.
  StateSelection(const BuildContext& c, std::string_view name, const Attr& given);

  // Whether the path is selected. Notes what selected it.
  bool Contains(std::string_view path);
  // The first entry that has selected nothing so far, as it was written; empty: there is none.
  std::string Unused() const;

 private:
  struct Entry {
    std::string pattern;
    std::string written;
    bool used = false;
  };
  std::vector<Entry> entries_;
};

// Whether the text is the pattern, in which each * stands for any text.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace catamaran

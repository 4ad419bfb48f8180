// commit/name_rules.h
//
// What tensors of another system are called here: a text of lines
//
//   fc.weight             -> @fc.w transposed
//   *bn*.weight           -> @*bn*.scale
//   *.weight              -> @*.w
//   *.num_batches_tracked -> none
//
// A `*` stands for any characters, also none; on the right the first `*` is what the first one on
// the left stood for, and so on. The first line that fits a name counts. `transposed` exchanges the
// two axes of a matrix, `none` leaves a tensor out. `#` begins a comment.
//
// Thread safety: as a value.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

class NameRules {
 public:
  // Throws an Error that begins with `file` and the line.
  static NameRules Parse(std::string_view text, const std::string& file);

  struct Target {
    std::string path;  // without @; empty: the tensor is left out
    bool transposed = false;
    size_t rule = 0;
  };
  // Empty if no line fits.
  std::optional<Target> Find(std::string_view name) const;

  size_t size() const { return rules_.size(); }
  // "torch.names:3: *.weight -> @*.w"
  std::string Describe(size_t rule) const;

 private:
  struct Rule {
    std::string from, to;  // `to` is empty for none
    bool transposed = false;
    int line = 0;
    std::string text;
  };
  std::string file_;
  std::vector<Rule> rules_;
};

}  // namespace catamaran

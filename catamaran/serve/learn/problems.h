// serve/learn/problems.h
//
// What is wrong with a model that learns, and what was. A problem has a kind ("commit_failed"); it
// stands until its kind is resolved, and then counts as past.
//
// Thread safety: none of its own.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catamaran {

class LearningProblems {
 public:
  // Takes the place of an earlier problem of that kind.
  void Raise(std::string_view kind, std::string why) {
    Take(kind);
    standing_.push_back({std::string(kind), std::move(why)});
  }

  // False if there was no problem of that kind.
  bool Resolve(std::string_view kind, int64_t now_ns) {
    std::string why = Take(kind);
    if (why.empty()) return false;
    past_ = std::move(why);
    past_ns_ = now_ns;
    return true;
  }

  // The newest that stands; empty: none.
  std::string current() const { return standing_.empty() ? "" : standing_.back().why; }
  // The one that was resolved last, and when; empty and 0: none.
  const std::string& past() const { return past_; }
  int64_t past_ns() const { return past_ns_; }

 private:
  struct Standing {
    std::string kind, why;
  };

  std::string Take(std::string_view kind) {
    const auto found = std::find_if(standing_.begin(), standing_.end(),
                                    [&](const Standing& one) { return one.kind == kind; });
    if (found == standing_.end()) return "";
    std::string why = std::move(found->why);
    standing_.erase(found);
    return why;
  }

  std::vector<Standing> standing_;  // oldest first
  std::string past_;
  int64_t past_ns_ = 0;
};

}  // namespace catamaran

#include "catamaran/transform/state_selection.h"

#include <fmt/format.h>

namespace catamaran {

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  // After a * the rest is tried at each place; only the last * needs to be tried again.
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

StateSelection::StateSelection(const BuildContext& c, std::string_view name, const Attr& given) {
  const auto add = [&](const Attr& a) {
    if (const AttrState* state = a.get<AttrState>()) {
      entries_.push_back({state->path, "@" + state->path});
    } else if (const std::string* pattern = a.get<std::string>()) {
      const bool at = pattern->starts_with("@");
      entries_.push_back({pattern->substr(at ? 1 : 0), a.ToString()});
    } else {
      c.Fail(
          fmt::format("{} is a list of states, such as @fc.b, and of patterns, such as "
                      "\"tower.*\"; found {}",
                      name, a.ToString()));
    }
  };
  if (given.empty()) return;
  if (const Attr::List* list = given.list()) {
    for (const Attr& a : *list) add(a);
  } else {
    add(given);
  }
}

bool StateSelection::Contains(std::string_view path) {
  bool found = false;
  for (Entry& e : entries_) {
    if (!MatchesPattern(e.pattern, path)) continue;
    e.used = found = true;
  }
  return found;
}

std::string StateSelection::Unused() const {
  for (const Entry& e : entries_) {
    if (!e.used) return e.written;
  }
  return {};
}

}  // namespace catamaran

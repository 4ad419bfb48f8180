// commit/name_rules.cc

#include "catamaran/commit/name_rules.h"

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// What each * of `pattern` stands for in `name`; earlier ones take as little as they can. False if
// it does not fit.
bool Fits(std::string_view pattern, std::string_view name, std::vector<std::string_view>& stars) {
  struct Star {
    size_t pattern, begin, end;  // behind the *; what it stands for
  };
  std::vector<Star> open;
  size_t p = 0, n = 0;
  while (true) {
    if (p < pattern.size() && pattern[p] == '*') {
      open.push_back({++p, n, n});
    } else if (p < pattern.size() && n < name.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (p == pattern.size() && n == name.size()) {
      break;
    } else if (!open.empty() && open.back().end < name.size()) {
      // Only the last * has to grow: had an earlier one to, this one could have taken less.
      p = open.back().pattern;
      n = ++open.back().end;
    } else {
      return false;
    }
  }
  stars.clear();
  for (const Star& star : open) stars.push_back(name.substr(star.begin, star.end - star.begin));
  return true;
}

std::string Filled(std::string_view pattern, const std::vector<std::string_view>& stars) {
  std::string path;
  size_t k = 0;
  for (const char c : pattern) {
    if (c == '*') {
      path += stars[k++];
    } else {
      path += c;
    }
  }
  return path;
}

}  // namespace

NameRules NameRules::Parse(std::string_view text, const std::string& file) {
  NameRules rules;
  rules.file_ = file;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) continue;
    const auto fail = [&](const std::string& why) {
      Fail("{}:{}: {}; wanted NAME -> @PATH, NAME -> @PATH transposed, or NAME -> none", file,
           number, why);
    };
    if (words.size() < 3 || words[1] != "->") fail("found no '->' between a name and a path");
    Rule rule{std::string(words[0]), "", false, number,
              fmt::format("{} -> {}", words[0], words[2])};
    if (words[2] != "none") {
      if (words[2].size() < 2 || words[2][0] != '@') {
        fail(fmt::format("found '{}' for a path", words[2]));
      }
      rule.to = words[2].substr(1);
    }
    if (words.size() > 3) {
      if (words.size() > 4 || words[3] != "transposed" || rule.to.empty()) {
        fail(fmt::format("found '{}' behind the path", words[3]));
      }
      rule.transposed = true;
      rule.text += " transposed";
    }
    if (std::count(rule.to.begin(), rule.to.end(), '*') >
        std::count(rule.from.begin(), rule.from.end(), '*')) {
      fail("the path has more * than the name");
    }
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

std::optional<NameRules::Target> NameRules::Find(std::string_view name) const {
  std::vector<std::string_view> stars;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!Fits(rules_[i].from, name, stars)) continue;
    return Target{Filled(rules_[i].to, stars), rules_[i].transposed, i};
  }
  return std::nullopt;
}

std::string NameRules::Describe(size_t rule) const {
  return fmt::format("{}:{}: {}", file_, rules_[rule].line, rules_[rule].text);
}

}  // namespace catamaran

// Reading the subscripts of einsum.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "catamaran/ops/matrix/einsum.h"

namespace catamaran {

namespace {

// One operand's text: the letters, and where `...` stands (or npos).
struct Subscript {
  std::string letters;
  size_t dots = std::string::npos;
};

bool ParseSubscript(std::string_view text, Subscript& subscript, std::string& error) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && subscript.dots == std::string::npos) {
      subscript.dots = subscript.letters.size();
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      subscript.letters += text[i];
    } else {
      error = fmt::format("\"{}\" is not a list of letters with at most one ...", text);
      return false;
    }
  }
  return true;
}

// With the last `count` of `most` digits in the place of the dots.
std::string Expand(const Subscript& subscript, int count, int most) {
  if (subscript.dots == std::string::npos) return subscript.letters;
  std::string digits;
  for (int i = most - count; i < most; ++i) digits += static_cast<char>('0' + i);
  return subscript.letters.substr(0, subscript.dots) + digits +
         subscript.letters.substr(subscript.dots);
}

}  // namespace

EinsumSpec ParseEinsum(std::string_view equation, std::span<const int> ranks) {
  EinsumSpec spec;
  std::string text;
  for (char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  std::vector<Subscript> inputs;
  std::string_view left = std::string_view(text).substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    if (!ParseSubscript(left.substr(0, comma), inputs.emplace_back(), spec.error)) return spec;
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (inputs.size() != ranks.size()) {
    spec.error = fmt::format("the equation \"{}\" has {} operands, {} are given", equation,
                             inputs.size(), ranks.size());
    return spec;
  }
  int most = 0;
  std::vector<int> counts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int letters = static_cast<int>(inputs[i].letters.size()), rest = ranks[i] - letters;
    const bool dots = inputs[i].dots != std::string::npos;
    if (dots ? rest < 0 : rest != 0) {
      spec.error = fmt::format("\"{}\" names {} axes{}; operand {} has {}", inputs[i].letters,
                               letters, dots ? " and ..." : "", i, ranks[i]);
      return spec;
    }
    counts.push_back(rest);
    most = std::max(most, rest);
  }
  std::map<char, int> uses;
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(Expand(inputs[i], counts[i], most));
    for (char index : spec.inputs.back()) ++uses[index];
  }
  if (arrow == std::string::npos) {
    for (int i = 0; i < most; ++i) spec.output += static_cast<char>('0' + i);
    for (const auto& [index, count] : uses) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(index))) spec.output += index;
    }
    return spec;
  }
  Subscript output;
  if (!ParseSubscript(std::string_view(text).substr(arrow + 2), output, spec.error)) return spec;
  spec.output = Expand(output, most, most);
  for (char index : spec.output) {
    if (!uses.contains(index)) {
      spec.error = fmt::format("index {} of the result is in no operand", index);
      return spec;
    }
  }
  return spec;
}

}  // namespace catamaran

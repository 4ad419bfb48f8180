// data/features/feature_lexer.h
//
// The words of a features file.

#pragma once

#include <string>
#include <vector>

#include "catamaran/data/features/feature_syntax.h"

namespace catamaran {

struct FeatureToken {
  enum class Kind : uint8_t { kName, kNumber, kText, kSign, kNewline, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // of a name, a text without quotes, a sign such as "<=" or ".."
  double number = 0;
  FeaturePlace place;
  bool quoted = false;  // a name in backquotes
};

// The tokens of a source. Comments run from // to the end of the line; newlines within brackets
// are left out, and so are empty lines. The last token is kEnd, after a kNewline.
std::vector<FeatureToken> LexFeatures(const FeatureSource& source);

}  // namespace catamaran

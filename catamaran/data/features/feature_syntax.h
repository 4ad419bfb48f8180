// data/features/feature_syntax.h
//
// A features file as it is written: what each line says, not yet what it means. docs/features.md
// describes the language.
//
// Thread safety: immutable once parsed.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/column_default.h"
#include "catamaran/data/schema.h"

namespace catamaran {

// The text of a features file, for messages.
struct FeatureSource {
  std::string path;
  std::string text;
};

// Where something stands, from 1.
struct FeaturePlace {
  int line = 0;
  int column = 0;
};

// Throws an Error "path:line:column: message", with the line below it.
[[noreturn]] void FailAt(const FeatureSource& source, FeaturePlace place,
                         const std::string& message);

struct FeatureSetting;

struct FeatureExpr {
  enum class Kind : uint8_t {
    kNumber,  // 3.5
    kText,    // "yes"
    kName,    // age: a column, a `let`, or the variable of a `for`
    kCall,    // text(args, settings); operators are calls of "+", "<=", "in", …
    kIndex,   // text[args].name, or .name..name
    kList,    // [args]
    kRange,   // name..name: columns whose names end with numbers
    kFor,     // args[0] for text in args[1]
  };
  Kind kind = Kind::kNumber;
  FeaturePlace place;
  std::string text;
  std::string first, last;  // of kIndex and kRange; last is empty without ".."
  double number = 0;
  std::vector<FeatureExpr> args;
  std::vector<FeatureSetting> settings;
};

struct FeatureSetting {
  std::string name;
  FeatureExpr value;  // a number, a text, a name or a list of those
  FeaturePlace place;
};

// `name = expr`, or `let name = expr`.
struct FeatureLine {
  std::string name;
  FeatureExpr expr;
  FeaturePlace place;
  bool output = true;
};

// `file name("path", settings)`.
struct FeatureSideFile {
  std::string name;
  std::string path;
  std::vector<FeatureSetting> settings;
  FeaturePlace place;
};

// `plugin "path"`.
struct FeaturePlugin {
  std::string path;
  FeaturePlace place;
};

struct FeatureSyntax {
  std::shared_ptr<const FeatureSource> source;
  std::vector<FeatureLine> lines;
  std::vector<FeatureSideFile> files;
  std::vector<FeaturePlugin> plugins;
  std::vector<Column> inputs;           // of `input name: kind, …`
  std::vector<ColumnDefault> defaults;  // of `input name: kind = default`
  std::vector<FeatureSetting> data;     // of `data(settings)`
};

// Throws an Error that names file, line and column.
FeatureSyntax ParseFeatures(std::string_view text, const std::string& path);

// An expression as text that parses back, in one way for all ways to write it.
std::string ToString(const FeatureExpr& expr);

// "C1..C26" as C1, C2, …, C26; empty unless both names are equal up to a number, which rises.
std::vector<std::string> ExpandRange(const std::string& first, const std::string& last);

// A text in quotes, with what needs it escaped; a name, in backquotes unless it needs none.
std::string QuotedText(std::string_view text);
std::string NameText(std::string_view name);

}  // namespace catamaran

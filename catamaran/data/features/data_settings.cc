#include "catamaran/data/features/data_settings.h"

#include <fmt/format.h>

#include <cmath>

#include "catamaran/base/suggest.h"

namespace catamaran {
namespace {

using Kind = FeatureExpr::Kind;

class Setting {
 public:
  Setting(const FeatureSource& source, const FeatureSetting& setting)
      : source_(source), setting_(setting) {}

  std::string Text() const {
    if (setting_.value.kind != Kind::kText && setting_.value.kind != Kind::kName) Wrong("a text");
    return setting_.value.text;
  }
  char Character() const {
    const std::string text = Text();
    if (text == "tab") return '\t';
    if (text == "space") return ' ';
    if (text == "none") return '\0';
    if (text.size() != 1) Wrong("one character, tab, space or none");
    return text[0];
  }
  bool Flag() const {
    const std::string text = Text();
    if (text == "yes" || text == "true") return true;
    if (text == "no" || text == "false") return false;
    Wrong("yes or no");
  }
  bool First() const {
    if (Text() != "first") Wrong("first");
    return true;
  }
  int64_t Integer() const {
    const double value = setting_.value.number;
    if (setting_.value.kind != Kind::kNumber || value != std::floor(value) ||
        !(std::fabs(value) < 0x1p53)) {
      Wrong("a whole number");
    }
    return static_cast<int64_t>(value);
  }
  // One text is a list of one.
  std::vector<std::string> Texts() const {
    if (setting_.value.kind != Kind::kList) return {Text()};
    std::vector<std::string> texts;
    for (const FeatureExpr& item : setting_.value.args) {
      if (item.kind != Kind::kText && item.kind != Kind::kName) Wrong("a list of texts");
      texts.push_back(item.text);
    }
    return texts;
  }

 private:
  [[noreturn]] void Wrong(std::string_view wanted) const {
    FailAt(source_, setting_.value.place,
           fmt::format("the setting '{}' is {}, wanted {}", setting_.name, ToString(setting_.value),
                       wanted));
  }

  const FeatureSource& source_;
  const FeatureSetting& setting_;
};

}  // namespace

DataSettings ReadDataSettings(const FeatureSource& source,
                              const std::vector<FeatureSetting>& settings, DataLine line) {
  DataSettings out;
  TextOptions& text = out.options.text;
  for (const FeatureSetting& each : settings) {
    const Setting setting(source, each);
    if (each.name == "format") {
      out.options.format = setting.Text();
    } else if (each.name == "separator") {
      text.separator = setting.Character();
    } else if (each.name == "quote") {
      text.quote = setting.Character();
    } else if (each.name == "header") {
      text.header = setting.Flag();
    } else if (each.name == "names") {
      text.names = setting.Texts();
    } else if (each.name == "skip_lines") {
      text.skip_lines = setting.Integer();
    } else if (each.name == "trim") {
      text.trim = setting.Flag();
    } else if (each.name == "missing") {
      text.missing = setting.Texts();
    } else if (each.name == "missing_integer") {
      text.missing_integer = setting.Integer();
    } else if (each.name == "hexadecimal") {
      text.hexadecimal = setting.Texts();
    } else if (each.name == "list_separator") {
      text.list_separator = setting.Character();
    } else if (each.name == "first_index") {
      text.first_index = setting.Integer();
    } else if (each.name == "key" && line == DataLine::kSideFile) {
      out.key = setting.Texts();
    } else if (each.name == "repeated" && line == DataLine::kSideFile) {
      out.repeated_first = setting.First();
    } else {
      constexpr std::string_view kNames[] = {
          "format",      "separator", "quote",          "header",      "names",
          "skip_lines",  "trim",      "missing",        "hexadecimal", "list_separator",
          "first_index", "key",       "missing_integer"};
      const std::string near = Suggest(each.name, kNames);
      FailAt(source, each.place,
             fmt::format("there is no setting '{}' of how data is read{}", each.name,
                         near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
  }
  return out;
}

}  // namespace catamaran

#include "catamaran/data/features/feature_set.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/data/features/data_settings.h"
#include "catamaran/data/features/feature_binder.h"
#include "catamaran/data/features/feature_library.h"
#include "catamaran/data/features/fitted_file.h"
#include "catamaran/data/features/standard_functions.h"

namespace catamaran {

std::vector<std::string> Features::outputs() const {
  std::vector<std::string> names;
  for (const FeatureLine& line : syntax_->lines) {
    if (line.output) names.push_back(line.name);
  }
  return names;
}

std::optional<Schema> Features::declared_inputs() const {
  if (syntax_->inputs.empty()) return fitted_columns_;
  return Schema(syntax_->inputs);
}

ReaderOptions Features::ReaderSettings(ReaderOptions options) const {
  const ReaderOptions said =
      ReadDataSettings(*syntax_->source, syntax_->data, DataLine::kData).options;
  if (options.format.empty()) options.format = said.format;
  if (!options.schema) options.schema = declared_inputs();
  options.defaults.insert(options.defaults.end(), syntax_->defaults.begin(),
                          syntax_->defaults.end());
  TextOptions& text = options.text;
  const TextOptions plain;
  if (text.separator == plain.separator) text.separator = said.text.separator;
  if (text.quote == plain.quote) text.quote = said.text.quote;
  if (text.skip_lines == plain.skip_lines) text.skip_lines = said.text.skip_lines;
  if (!text.header) text.header = said.text.header;
  if (text.names.empty()) text.names = said.text.names;
  if (!text.trim) text.trim = said.text.trim;
  if (!text.missing) text.missing = said.text.missing;
  if (!text.missing_integer) text.missing_integer = said.text.missing_integer;
  if (text.hexadecimal.empty()) text.hexadecimal = said.text.hexadecimal;
  if (text.list_separator == plain.list_separator) text.list_separator = said.text.list_separator;
  if (text.first_index == plain.first_index) text.first_index = said.text.first_index;
  return options;
}

std::shared_ptr<const RowTransform> Features::Bind(const Schema& columns,
                                                   const std::vector<std::string>& outputs) const {
  return BindFeatures(*this, columns, outputs, Unfitted::kRefuse);
}

bool Features::needs_fit() const {
  const auto learns = [this](const auto& self, const FeatureExpr& expr) -> bool {
    if (expr.kind == FeatureExpr::Kind::kCall) {
      const FeatureFunction* const function = functions_->Find(expr.text);
      if (function != nullptr && function->fit) return true;
    }
    return std::ranges::any_of(expr.args, [&](const FeatureExpr& arg) { return self(self, arg); });
  };
  return !syntax_->files.empty() || std::ranges::any_of(syntax_->lines, [&](const auto& line) {
    return learns(learns, line.expr);
  });
}

Features Features::WithFitted(FittedValues fitted, const Schema& columns) const {
  Features copy = *this;
  copy.fitted_ = std::make_shared<FittedValues>(std::move(fitted));
  copy.fitted_columns_ = columns;
  return copy;
}

namespace {

// The columns of each side file that expressions name, as first and last of a range.
using NamedColumns = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;

void FindColumns(const FeatureExpr& expr, NamedColumns& named) {
  if (expr.kind == FeatureExpr::Kind::kIndex) {
    named[expr.text].emplace_back(expr.first, expr.last.empty() ? expr.first : expr.last);
  }
  for (const FeatureExpr& arg : expr.args) FindColumns(arg, named);
}

// A path that a features file names: from its own folder, unless it begins with a slash.
std::string BesideFile(const std::string& path, const std::string& named) {
  return named.starts_with('/') ? named : JoinPath(ParentDirectory(path), named);
}

}  // namespace

Features MakeFeatures(const FileSystem& fs, std::string_view text, const std::string& path,
                      const FeatureOptions& options, FittedParts fitted) {
  Features features;
  features.syntax_ = std::make_shared<FeatureSyntax>(ParseFeatures(text, path));
  const FeatureSyntax& syntax = *features.syntax_;
  auto functions = std::make_shared<FeatureFunctionSet>(StandardFeatureFunctions());
  for (const FeaturePlugin& plugin : syntax.plugins) {
    try {
      LoadFeatureLibrary(*functions, BesideFile(path, plugin.path));
    } catch (const Error& error) {
      FailAt(*syntax.source, plugin.place, error.what());
    }
  }
  for (const std::string& library : options.libraries) LoadFeatureLibrary(*functions, library);
  features.functions_ = std::move(functions);
  if (fitted.values) {
    features.fitted_ = std::move(fitted.values);
    features.files_ = std::move(fitted.files);
    features.fitted_columns_ = std::move(fitted.columns);
    return features;
  }
  NamedColumns named;
  for (const FeatureLine& line : syntax.lines) FindColumns(line.expr, named);
  std::vector<std::string> folders = {ParentDirectory(path)};
  folders.insert(folders.end(), options.folders.begin(), options.folders.end());
  for (const FeatureSideFile& file : syntax.files) {
    features.files_[file.name] = std::make_shared<SideFile>(
        ReadSideFile(fs, *syntax.source, file, named[file.name], folders));
  }
  return features;
}

Features LoadFeatures(const FileSystem& fs, const std::string& path,
                      const FeatureOptions& options) {
  const std::string text = fs.ReadAll(path);
  if (IsFittedText(text)) return ParseFitted(fs, text, path, options);
  const std::string fitted_path = FittedPath(path);
  if (options.unfitted || !fs.Exists(fitted_path)) return MakeFeatures(fs, text, path, options);
  Features fitted = ParseFitted(fs, fs.ReadAll(fitted_path), fitted_path, options);
  const std::string& of = fitted.syntax().source->text;
  if (of == text || of == text + "\n") return fitted;
  Features now = MakeFeatures(fs, text, path, options);
  if (!now.needs_fit()) return now;
  Fail("{}: it was made of another text than {} now has: run `catamaran features fit {} --data …`",
       fitted_path, path, path);
}

}  // namespace catamaran

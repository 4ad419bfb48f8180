#include "catamaran/data/features/feature_set.h"

#include <set>

#include "catamaran/base/error.h"
#include "catamaran/data/features/data_settings.h"
#include "catamaran/data/features/feature_binder.h"
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
  if (syntax_->inputs.empty()) return std::nullopt;
  return Schema(syntax_->inputs);
}

ReaderOptions Features::ReaderSettings(ReaderOptions options) const {
  const ReaderOptions said =
      ReadDataSettings(*syntax_->source, syntax_->data, DataLine::kData).options;
  if (options.format.empty()) options.format = said.format;
  if (!options.schema) options.schema = declared_inputs();
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

Features MakeFeatures(const FileSystem& fs, std::string_view text, const std::string& path,
                      const FeatureOptions& options) {
  Features features;
  features.syntax_ = std::make_shared<FeatureSyntax>(ParseFeatures(text, path));
  features.functions_ = std::make_shared<FeatureFunctionSet>(StandardFeatureFunctions());
  const FeatureSource& source = *features.syntax_->source;
  std::vector<std::string> folders = {ParentDirectory(path)};
  folders.insert(folders.end(), options.folders.begin(), options.folders.end());
  for (const FeatureSideFile& file : features.syntax_->files) {
    features.files_[file.name] =
        std::make_shared<SideFile>(ReadSideFile(fs, source, file, folders));
  }
  return features;
}

Features LoadFeatures(const FileSystem& fs, const std::string& path,
                      const FeatureOptions& options) {
  return MakeFeatures(fs, fs.ReadAll(path), path, options);
}

}  // namespace catamaran

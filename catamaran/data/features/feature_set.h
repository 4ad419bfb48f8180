// data/features/feature_set.h
//
// A features file, with all that it needs: what was fitted, the files beside the data, and the
// functions. Binding it to the columns of some data gives the transform that training, evaluation
// and serving share.
//
//   Features features = LoadFeatures(fs, "adult.features");
//   auto reader = OpenReader(fs, "adult.data", features.ReaderSettings({}));
//   std::shared_ptr<const RowTransform> transform = features.Bind(reader->schema());
//
// Thread safety: immutable; copies share what they hold.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/features/feature_function.h"
#include "catamaran/data/features/feature_syntax.h"
#include "catamaran/data/features/side_file.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/row_transform.h"

namespace catamaran {

// What was learned from data, by the text of the call that it is for: "normalize(age)".
using FittedValues = std::map<std::string, FittedValue, std::less<>>;

class Features {
 public:
  // The names of the outputs, in the order of the file.
  std::vector<std::string> outputs() const;

  // The columns of the data: those that the file declares by `input`, or else those of the data
  // that it was fitted to. None: those of the data are taken as they are.
  std::optional<Schema> declared_inputs() const;

  // How the data is read: what the file says in `data` and `input`, where `options` say nothing.
  ReaderOptions ReaderSettings(ReaderOptions options) const;

  // The transform of rows with these columns to the named outputs (empty: all). Only columns that
  // those outputs need must be there. An Error that names file, line and column if something does
  // not fit, or is not fitted.
  std::shared_ptr<const RowTransform> Bind(const Schema& columns,
                                           const std::vector<std::string>& outputs = {}) const;

  const FeatureSyntax& syntax() const { return *syntax_; }
  const FittedValues& fitted() const { return *fitted_; }
  const FeatureFunctionSet& functions() const { return *functions_; }
  const std::map<std::string, std::shared_ptr<const SideFile>>& files() const { return files_; }

  // Whether something in it is learned from data, or read from files beside the data: then
  // `features fit` makes one file of all.
  bool needs_fit() const;

  // The same with other fits, and the columns of the data that they come from.
  Features WithFitted(FittedValues fitted, const Schema& columns) const;

 private:
  friend Features MakeFeatures(const FileSystem&, std::string_view, const std::string&,
                               const struct FeatureOptions&, struct FittedParts);

  std::shared_ptr<const FeatureSyntax> syntax_;
  std::shared_ptr<const FeatureFunctionSet> functions_;
  std::shared_ptr<const FittedValues> fitted_ = std::make_shared<FittedValues>();
  std::map<std::string, std::shared_ptr<const SideFile>> files_;
  std::optional<Schema> fitted_columns_;
};

struct FeatureOptions {
  // Where files beside the data are looked for, after the folder of the features file.
  std::vector<std::string> folders;
  // Shared libraries with more functions, beside those that the file names.
  std::vector<std::string> libraries;
  // What was fitted before is not looked for.
  bool unfitted = false;
};

// What a fitted file holds beside the text.
struct FittedParts {
  std::shared_ptr<const FittedValues> values;
  std::map<std::string, std::shared_ptr<const SideFile>> files;
  std::optional<Schema> columns;
};

// From text; `path` is for messages and for what the file names. With `fitted`, files beside the
// data are not read.
Features MakeFeatures(const FileSystem& fs, std::string_view text, const std::string& path,
                      const FeatureOptions& options = {}, FittedParts fitted = {});

// From a file: a features file, or what `features fit` has made of one. For a features file that
// needs it, FittedPath(path) is used where it is there; an Error if it was made of another text.
Features LoadFeatures(const FileSystem& fs, const std::string& path,
                      const FeatureOptions& options = {});

}  // namespace catamaran

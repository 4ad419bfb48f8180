// data/features/fitted_file.h
//
// A features file together with all that was learned from data and all that it reads beside it: one
// text file, enough to transform rows without anything else. docs/formats/features.md describes it.

#pragma once

#include <string>
#include <string_view>

#include "catamaran/data/features/feature_set.h"

namespace catamaran {

// Where `features fit` puts what it makes of a features file, and where it is looked for.
std::string FittedPath(const std::string& path);

// Whether the text is that of a fitted file rather than of a features file.
bool IsFittedText(std::string_view text);

// The whole file. The same features give the same bytes.
std::string FittedText(const Features& features);

// The inverse. Throws an Error that begins with `path` if the text is damaged or of a later
// version.
Features ParseFitted(const FileSystem& fs, std::string_view text, const std::string& path,
                     const FeatureOptions& options);

}  // namespace catamaran

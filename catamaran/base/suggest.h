// base/suggest.h
//
// "Did you mean ...?" for error messages.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace catamaran {

// The candidate that `word` is most likely a misspelling of, or "" if none is near: within one edit
// for every three characters (one at least), where an edit adds, drops or replaces a character or
// swaps two neighbours; letters of different case count as equal. Of equally near candidates the
// first.
std::string Suggest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace catamaran

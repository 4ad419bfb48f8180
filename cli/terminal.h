// cli/terminal.h
//
// Colours, where the reader is a person: on a terminal, unless NO_COLOR is set or TERM is dumb.

#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace catamaran::cli {

class Style {
 public:
  explicit Style(bool on) : on_(on) {}
  // For what is written to `stream`.
  static Style For(std::FILE* stream);

  bool on() const { return on_; }
  std::string Bold(std::string_view text) const { return Wrap("1", text); }
  std::string Red(std::string_view text) const { return Wrap("1;31", text); }
  std::string Green(std::string_view text) const { return Wrap("32", text); }
  std::string Dim(std::string_view text) const { return Wrap("2", text); }

  // An error message: the first line of each part bold, what underlines a place red.
  std::string Error(std::string_view message) const;

 private:
  std::string Wrap(std::string_view code, std::string_view text) const;
  bool on_;
};

// How many characters a line on `stream` has: as the terminal says, or COLUMNS; 100 elsewhere.
int LineWidth(std::FILE* stream);

// Whether lines written to `stream` can be overwritten.
bool IsTerminal(std::FILE* stream);

}  // namespace catamaran::cli

// ir/diagnostic.h
//
// What is wrong with a user's program, said so that they can mend it: the line, the place in
// it, what was found and what was wanted, and where both sides come from. Checks collect
// Diagnostics, so that one run reports several mistakes, and then throw a ProgramError.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/ir/location.h"

namespace catamaran {

// One line under the message: "x : f32[B, 416]   from reshape, models/ctr.ctm:12". Labels of
// one diagnostic are padded to the same width; a note without label is a plain sentence.
struct DiagnosticNote {
  std::string label;
  std::string text;
};

struct Diagnostic {
  Location at;
  uint32_t length = 1;  // columns to underline
  std::string message;  // "matmul: inner dimensions differ: 416 and 429"
  std::vector<DiagnosticNote> notes;
};

// One diagnostic as the user sees it, several lines, ending in a newline.
std::string Render(const Diagnostic& diagnostic, const SourceTable& sources);

class ProgramError : public Error {
 public:
  ProgramError(std::vector<Diagnostic> diagnostics, const SourceTable& sources);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Collects. After kMaxDiagnostics further ones are only counted.
class Diagnostics {
 public:
  static constexpr size_t kMaxDiagnostics = 20;

  Diagnostic& Add(Location at, std::string message, uint32_t length = 1);
  bool empty() const { return list_.empty(); }
  size_t count() const { return list_.size() + dropped_; }
  const std::vector<Diagnostic>& list() const { return list_; }
  bool full() const { return dropped_ > 0; }

  // Throws a ProgramError when anything was added. Equal messages at equal places are one.
  void ThrowIfAny(const SourceTable& sources) const;

 private:
  std::vector<Diagnostic> list_;
  Diagnostic overflow_;
  size_t dropped_ = 0;
};

}  // namespace catamaran

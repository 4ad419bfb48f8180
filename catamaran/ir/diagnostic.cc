#include "catamaran/ir/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace catamaran {
namespace {

std::string RenderAll(const std::vector<Diagnostic>& diagnostics, const SourceTable& sources) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += Render(d, sources);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// Tabs count as one column in a Location, so the underline repeats them.
std::string Underline(std::string_view line, uint32_t column, uint32_t length) {
  std::string out;
  for (uint32_t i = 1; i < column && i <= line.size(); ++i) out += line[i - 1] == '\t' ? '\t' : ' ';
  const size_t room = column <= line.size() ? line.size() - column + 1 : 1;
  out.append(std::max<size_t>(1, std::min<size_t>(length, room)), '^');
  return out;
}

}  // namespace

std::string Render(const Diagnostic& d, const SourceTable& sources) {
  std::string out;
  if (d.at.known()) out = sources.ToString(d.at) + ": ";
  out += d.message + "\n";
  std::string_view line = sources.Line(d.at.file, d.at.line);
  constexpr size_t kLongestLine = 200;
  if (!line.empty() && line.size() <= kLongestLine) {
    fmt::format_to(std::back_inserter(out), "{:>5} | {}\n", d.at.line, line);
    if (d.at.column > 0) {
      fmt::format_to(std::back_inserter(out), "      | {}\n",
                     Underline(line, d.at.column, d.length));
    }
  }
  size_t width = 0;
  for (const DiagnosticNote& n : d.notes) width = std::max(width, n.label.size());
  for (const DiagnosticNote& n : d.notes) {
    if (n.label.empty()) {
      out += "  " + n.text + "\n";
    } else {
      fmt::format_to(std::back_inserter(out), "  {:<{}} : {}\n", n.label, width, n.text);
    }
  }
  constexpr int kLongestChain = 8;
  uint32_t frame = d.at.frame;
  for (int i = 0; frame != 0 && i < kLongestChain; ++i) {
    const SourceFrame f = sources.frame(frame);
    out += "  " + f.what + (f.at.known() ? ", " + sources.ToString(f.at) : "") + "\n";
    frame = f.at.frame;
  }
  return out;
}

ProgramError::ProgramError(std::vector<Diagnostic> diagnostics, const SourceTable& sources)
    : Error(RenderAll(diagnostics, sources), ErrorCode::kInvalidProgram),
      diagnostics_(std::move(diagnostics)) {}

Diagnostic& Diagnostics::Add(Location at, std::string message, uint32_t length) {
  Diagnostic d{at, length, std::move(message), {}};
  if (list_.size() >= kMaxDiagnostics) {
    ++dropped_;
    overflow_ = std::move(d);
    return overflow_;
  }
  list_.push_back(std::move(d));
  return list_.back();
}

void Diagnostics::ThrowIfAny(const SourceTable& sources) const {
  if (list_.empty()) return;
  std::vector<Diagnostic> all;
  for (const Diagnostic& d : list_) {
    const bool seen = std::any_of(all.begin(), all.end(), [&](const Diagnostic& other) {
      return other.at.file == d.at.file && other.at.line == d.at.line &&
             other.at.column == d.at.column && other.message == d.message;
    });
    if (!seen) all.push_back(d);
  }
  if (dropped_ > 0) {
    all.push_back({{}, 1, fmt::format("and {} more errors", dropped_), {}});
  }
  throw ProgramError(std::move(all), sources);
}

}  // namespace catamaran

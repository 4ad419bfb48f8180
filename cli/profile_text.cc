#include <fmt/format.h>

#include <algorithm>

#include "cli/cost.h"
#include "cli/data/text_table.h"
#include "cli/output_file.h"
#include "cli/profile.h"

namespace catamaran::cli {
namespace {

using Cells = std::vector<std::string>;

std::string Time(double seconds) {
  constexpr std::pair<double, std::string_view> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
  for (const auto& [size, unit] : kUnits) {
    if (seconds < 0.9995 * size) continue;
    const double value = seconds / size;
    return fmt::format("{:.{}f} {}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, unit);
  }
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

// A rate that is not worth a figure is left out.
std::string Rate(double amount, double seconds) {
  if (amount <= 0 || seconds <= 0) return "";
  const double rate = amount / seconds * 1e-9;
  if (rate < 0.05) return "";
  return fmt::format("{:.{}f}", rate, rate >= 99.95 ? 0 : 1);
}

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// At most that many characters, the last one "…" where some are missing.
std::string Fit(const std::string& text, size_t width) {
  if (Characters(text) <= width) return text;
  size_t end = 0, count = 0;
  while (count + 1 < width && end < text.size()) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    ++count;
  }
  return text.substr(0, end) + "…";
}

std::string Label(const ProfileRow& row) {
  std::string label = row.name;
  if (row.backward) label += " backward";
  if (!row.text.empty()) label += "  " + row.text;
  return label;
}

ProfileRow Rest(const std::vector<ProfileRow>& rows, size_t from) {
  ProfileRow rest;
  rest.name = fmt::format("({} more)", rows.size() - from);
  for (size_t i = from; i < rows.size(); ++i) {
    rest.calls += rows[i].calls;
    rest.seconds += rows[i].seconds;
    rest.waiting += rows[i].waiting;
    rest.operations += rows[i].operations;
    rest.bytes += rows[i].bytes;
    rest.least_seconds += rows[i].least_seconds;
  }
  return rest;
}

struct Column {
  std::string title;
  std::string (*cell)(const ProfileRow& row, double total);
  int from_width;  // shown on lines at least that wide
};

const Column kColumns[] = {
    {"time", [](const ProfileRow& r, double) { return Time(r.seconds); }, 0},
    {"share", [](const ProfileRow& r, double total) { return Percent(r.seconds, total); }, 0},
    {"calls", [](const ProfileRow& r, double) { return Amount(r.calls); }, 0},
    {"a call",
     [](const ProfileRow& r, double) { return r.calls > 0 ? Time(r.seconds / r.calls) : ""; }, 90},
    {"operations",
     [](const ProfileRow& r, double) { return r.operations > 0 ? Amount(r.operations) : ""; }, 120},
    {"bytes", [](const ProfileRow& r, double) { return r.bytes > 0 ? Amount(r.bytes) : ""; }, 120},
    {"GFLOP/s", [](const ProfileRow& r, double) { return Rate(r.operations, r.seconds); }, 0},
    {"GB/s", [](const ProfileRow& r, double) { return Rate(r.bytes, r.seconds); }, 0},
    {"of limit",
     [](const ProfileRow& r, double) {
       return r.seconds > 0 && r.least_seconds > 0
                  ? fmt::format("{:.0f} %", 100 * r.least_seconds / r.seconds)
                  : std::string();
     },
     0},
};

void PrintRows(const std::string& what, std::vector<ProfileRow> rows, double total,
               const ProfileView& view) {
  if (rows.empty()) return;
  // One that is left out alone takes no more room than the line that would say so.
  if (rows.size() > view.top + 1) {
    ProfileRow rest = Rest(rows, view.top);
    rows.resize(view.top);
    rows.push_back(std::move(rest));
  }
  const bool waits = std::ranges::any_of(rows, [](const ProfileRow& r) { return r.waiting > 0; });
  std::vector<Cells> lines(1);
  std::vector<Align> align = {Align::kLeft};
  lines[0] = {"by " + what};
  for (const ProfileRow& row : rows) lines.push_back({Label(row)});
  const auto add = [&](const std::string& title, const auto& cell) {
    align.push_back(Align::kRight);
    lines[0].push_back(title);
    for (size_t i = 0; i < rows.size(); ++i) lines[i + 1].push_back(cell(rows[i]));
  };
  for (const Column& column : kColumns) {
    if (view.width < column.from_width) continue;
    add(column.title, [&](const ProfileRow& row) { return column.cell(row, total); });
    if (waits && column.title == "share") {
      add("waiting", [](const ProfileRow& r) { return r.waiting > 0 ? Time(r.waiting) : ""; });
    }
  }
  size_t others = 0;
  for (size_t c = 1; c < align.size(); ++c) {
    size_t widest = 0;
    for (const Cells& line : lines) widest = std::max(widest, Characters(line[c]));
    others += widest + 2;
  }
  const auto width = static_cast<size_t>(view.width);
  const size_t left = width > others + 16 ? width - others : 16;
  for (Cells& line : lines) line[0] = Fit(line[0], left);
  fmt::print("\n");
  PrintTable(align, lines);
}

void PrintHead(const ProfileReport& report) {
  for (const ProfiledFunction& f : report.functions) {
    fmt::print("{}: {:.0f} run{} of {} on {} thread{}", f.name, f.runs, f.runs == 1 ? "" : "s",
               Time(f.runs > 0 ? f.seconds / f.runs : 0), f.threads, f.threads == 1 ? "" : "s");
    if (f.measured < f.runs) fmt::print("; the ops of {:.0f} of them were measured", f.measured);
    fmt::print("\n");
  }
  fmt::print("this machine: {:.1f} GFLOP/s in products of matrices, {:.1f} GB/s of memory\n",
             report.limits.flops * 1e-9, report.limits.bytes_second * 1e-9);
}

// Where the time of the whole went. With several threads their times are added, and it is of them
// together.
void PrintTimes(const ProfileReport& report) {
  double all = 0, threads_time = 0, turn = 0, late = 0;
  for (const ProfiledFunction& f : report.functions) {
    threads_time += f.seconds;
    turn += f.turn_seconds;
    late += f.waiting;
  }
  double phases = 0;
  for (const double seconds : report.phase_seconds) phases += seconds;
  all = std::max(report.seconds, threads_time + phases);
  std::vector<Cells> lines;
  const auto add = [&](const std::string& name, double seconds) {
    if (seconds > 0) lines.push_back({"  " + name, Time(seconds), Percent(seconds, all)});
  };
  for (size_t i = 0; i < report.phases.size(); ++i) {
    if (report.phases[i].waiting)
      add("waiting for " + report.phases[i].name, report.phase_seconds[i]);
  }
  add("waiting for the turn to write", turn > 1e-6 * all ? turn : 0);
  add("waiting for ops that complete later", late);
  add("computing, in ops", report.op_seconds);
  add("in runs, between ops", threads_time - turn - late - report.op_seconds);
  for (size_t i = 0; i < report.phases.size(); ++i) {
    if (!report.phases[i].waiting) add(report.phases[i].name, report.phase_seconds[i]);
  }
  add("between runs", all - threads_time - phases);
  fmt::print("\n{} in all\n", Time(all));
  PrintTable({Align::kLeft, Align::kRight, Align::kRight}, lines);
}

}  // namespace

void PrintProfile(const ProfileReport& report, const ProfileView& view) {
  PrintHead(report);
  PrintTimes(report);
  for (const std::string& by : view.by) {
    if (by == "op") PrintRows("op", report.ops, report.op_seconds, view);
    if (by == "line") PrintRows("line", report.lines, report.op_seconds, view);
    if (by == "layer") PrintRows("layer", report.layers, report.op_seconds, view);
  }
}

void WriteTimeline(FileSystem& fs, const Trace& trace, const std::string& path) {
  OutputFile file(fs, path);
  trace.WriteJson([&](std::string_view part) { file.Append(part); });
  file.Keep();
}

}  // namespace catamaran::cli

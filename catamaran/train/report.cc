// train/report.cc

#include "catamaran/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "catamaran/train/chart.h"

namespace catamaran {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --back: #fafaf8; --card: #fff; --text: #1d2329; --dim: #69737d;
  --line: #e4e4de; --s0: #2f6fb3; --s1: #d2691e; --s2: #3b8b57; --best: #e8f3e8; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171a; --card: #1d2125; --text: #e3e6e8; --dim: #8f9aa4; --line: #30363c;
    --s0: #6cabf0; --s1: #f0994f; --s2: #74c78f; --best: #203326; }
}
body { background: var(--back); color: var(--text); margin: 2rem auto; max-width: 1240px;
  padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1rem; margin: 0 0 .4rem; }
.facts { color: var(--dim); margin: 0 0 1.5rem; }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .8rem 1rem; position: relative; }
.key { float: right; color: var(--dim); font-size: .85rem; } .key b { font-weight: 600; }
svg { width: 100%; display: block; } .grid { stroke: var(--line); }
.tick { fill: var(--dim); font-size: 11px; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.line.s0 { stroke: var(--s0); } .line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); }
.dot.s0 { fill: var(--s0); } .dot.s1 { fill: var(--s1); } .dot.s2 { fill: var(--s2); }
.k0 { color: var(--s0); } .k1 { color: var(--s1); } .k2 { color: var(--s2); }
.tip { position: absolute; pointer-events: none; background: var(--text); color: var(--back);
  font-size: .8rem; padding: .15rem .45rem; border-radius: 4px; display: none; white-space: nowrap; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .8rem; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 500; } tr.best { background: var(--best); }
.scroll { overflow: auto; max-height: 420px; } section { margin-top: 1.5rem; }
td.left, th.left { text-align: left; overflow-wrap: anywhere; }
)";

// Shows the nearest point of each series under the pointer.
constexpr const char* kScript = R"(
for (const svg of document.querySelectorAll('svg[data-points]')) {
  const series = JSON.parse(svg.dataset.points), tip = svg.parentNode.querySelector('.tip');
  svg.addEventListener('pointermove', e => {
    const box = svg.getBoundingClientRect(), at = (e.clientX - box.left) * 560 / box.width;
    const parts = []; let x = null;
    for (const [name, points] of series) {
      let near = null;
      for (const p of points) if (!near || Math.abs(p[2] - at) < Math.abs(near[2] - at)) near = p;
      if (near) { parts.push(name + ' ' + near[1]); x = x ?? near[0]; }
    }
    tip.textContent = Math.round(x) + ': ' + parts.join(', ');
    tip.style.display = parts.length ? 'block' : 'none';
    const left = e.clientX - svg.parentNode.getBoundingClientRect().left;
    tip.style.left = Math.min(left + 12, box.width - tip.offsetWidth) + 'px';
    tip.style.top = (e.clientY - svg.parentNode.getBoundingClientRect().top - 30) + 'px';
  });
  svg.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
}
)";

// One chart for each metric, with a series for each kind of line that has it.
std::vector<Chart> ChartsOf(const std::vector<MetricsLine>& lines) {
  std::vector<Chart> charts;
  const auto add = [&](const std::string& title, const std::string& series, double x, double y,
                       bool dots) {
    auto chart = std::find_if(charts.begin(), charts.end(),
                              [&](const Chart& c) { return c.title == title; });
    if (chart == charts.end()) chart = charts.insert(charts.end(), {title, "steps", {}});
    auto found = std::find_if(chart->series.begin(), chart->series.end(),
                              [&](const ChartSeries& s) { return s.name == series; });
    if (found == chart->series.end()) {
      found = chart->series.insert(chart->series.end(), {series, {}, dots});
    }
    found->points.emplace_back(x, y);
  };
  for (const MetricsLine& line : lines) {
    for (const auto& [name, value] : line.metrics) {
      add(name, line.kind, static_cast<double>(line.step), value, line.kind != "train");
    }
  }
  for (const MetricsLine& line : lines) {
    if (line.rows_per_second <= 0) continue;
    add("rows per second", line.kind, static_cast<double>(line.step), line.rows_per_second, false);
  }
  return charts;
}

std::string ChartCard(const Chart& chart) {
  std::string key;
  for (size_t k = 0; k < chart.series.size(); ++k) {
    const auto& points = chart.series[k].points;
    key += fmt::format(" <span class=\"k{}\">{} <b>{}</b></span>", k,
                       EscapeHtml(chart.series[k].name), ShortNumber(points.back().second));
  }
  return fmt::format(
      "<div class=\"card\"><span class=\"key\">{}</span><h2>{}</h2>{}<div "
      "class=\"tip\"></div></div>\n",
      key, EscapeHtml(chart.title), DrawChart(chart));
}

// "1 h 02 min", "3 min 20 s", "12.3 s".
std::string DurationWords(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{:.1f} s", seconds);
}

std::string ValidationTable(const std::vector<MetricsLine>& lines, const std::string& kind,
                            const std::string& title) {
  std::vector<std::string> names;
  for (const MetricsLine& line : lines) {
    if (line.kind != kind) continue;
    for (const auto& [name, value] : line.metrics) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return {};
  std::string out = fmt::format(
      "<section class=\"card\"><h2>{}</h2><div class=\"scroll\"><table><tr><th>step</th>"
      "<th>epoch</th><th>rows</th><th>time</th>",
      title);
  for (const std::string& name : names) out += fmt::format("<th>{}</th>", EscapeHtml(name));
  out += "</tr>\n";
  for (const MetricsLine& line : lines) {
    if (line.kind != kind) continue;
    out += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
                       line.best ? " class=\"best\"" : "",
                       ShortNumber(static_cast<double>(line.step)), line.epoch,
                       ShortNumber(static_cast<double>(line.rows)), DurationWords(line.seconds));
    for (const std::string& name : names) {
      const double* value = FindMetric(line.metrics, name);
      out += fmt::format("<td>{}</td>", value == nullptr ? "" : fmt::format("{:.6g}", *value));
    }
    out += "</tr>\n";
  }
  return out + "</table></div></section>\n";
}

std::string FactsLine(const ReportFacts& facts, const std::vector<MetricsLine>& lines) {
  if (lines.empty()) return "Nothing was measured yet.";
  int64_t step = 0, rows = 0, refused = 0;
  double seconds = 0, best = NAN;
  int64_t best_step = 0;
  for (const MetricsLine& line : lines) {
    step = std::max(step, line.step);
    if (line.kind == "train") rows = std::max(rows, line.rows);
    refused = std::max(refused, line.refused);
    seconds = std::max(seconds, line.seconds);
    const double* value = line.best ? FindMetric(line.metrics, facts.best_metric) : nullptr;
    if (value != nullptr) best = *value, best_step = line.step;
  }
  std::string text = fmt::format("{} steps, {} rows, {}", ShortNumber(static_cast<double>(step)),
                                 ShortNumber(static_cast<double>(rows)), DurationWords(seconds));
  if (!std::isnan(best)) {
    text += fmt::format("; best {} {:.6g} at step {}", EscapeHtml(facts.best_metric), best,
                        ShortNumber(static_cast<double>(best_step)));
  }
  if (refused > 0) text += fmt::format("; {} steps were refused by a guard", refused);
  return text + ".";
}

}  // namespace

std::string MakeReport(const ReportFacts& facts, const std::vector<MetricsLine>& lines) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n<p "
      "class=\"facts\">{2}</p>\n"
      "<div class=\"charts\">\n",
      EscapeHtml(facts.title), kStyle, FactsLine(facts, lines));
  for (const Chart& chart : ChartsOf(lines)) out += ChartCard(chart);
  out += "</div>\n";
  out += ValidationTable(lines, "valid", "Validations");
  out += ValidationTable(lines, "window", "Windows, each predicted before it was learned from");
  if (!facts.settings.empty()) {
    out += "<section class=\"card\"><h2>Settings</h2><table>\n";
    for (const auto& [name, value] : facts.settings) {
      out += fmt::format("<tr><td class=\"left\">{}</td><td class=\"left\">{}</td></tr>\n",
                         EscapeHtml(name), EscapeHtml(value));
    }
    out += "</table></section>\n";
  }
  return out + fmt::format("<script>{}</script>\n</body></html>\n", kScript);
}

}  // namespace catamaran

// train/chart.cc

#include "catamaran/train/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace catamaran {
namespace {

constexpr double kWidth = 560, kHeight = 250;
constexpr double kLeft = 58, kRight = 14, kTop = 12, kBottom = 30;
constexpr size_t kMaxPoints = 400;

struct Range {
  double low = INFINITY, high = -INFINITY;

  void Add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  // So that there is something to draw, with some air around it.
  void Widen(double part) {
    if (!(low <= high)) low = 0, high = 1;
    if (low == high) {
      const double by = low == 0 ? 1 : std::abs(low) * 0.1;
      low -= by;
      high += by;
    }
    const double air = (high - low) * part;
    low -= air;
    high += air;
  }
  double Part(double v) const { return (v - low) / (high - low); }
};

// Finite points; at most kMaxPoints, each the average of some neighbours.
ChartSeries Thin(const ChartSeries& series) {
  ChartSeries thin{series.name, {}, series.dots};
  for (const auto& point : series.points) {
    if (std::isfinite(point.second)) thin.points.push_back(point);
  }
  if (thin.points.size() <= kMaxPoints) return thin;
  const std::vector<std::pair<double, double>> all = std::move(thin.points);
  thin.points.clear();
  for (size_t k = 0; k < kMaxPoints; ++k) {
    const size_t begin = k * all.size() / kMaxPoints, end = (k + 1) * all.size() / kMaxPoints;
    double x = 0, y = 0;
    for (size_t i = begin; i < end; ++i) x += all[i].first, y += all[i].second;
    const auto count = static_cast<double>(end - begin);
    thin.points.emplace_back(x / count, y / count);
  }
  return thin;
}

// Round numbers in the range, about `count` of them.
std::vector<double> Ticks(const Range& range, int count) {
  const double rough = (range.high - range.low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (power * nice >= rough) {
      step = power * nice;
      break;
    }
  }
  std::vector<double> ticks;
  for (double t = std::ceil(range.low / step) * step; t <= range.high + step * 1e-9; t += step) {
    ticks.push_back(std::abs(t) < step * 1e-9 ? 0 : t);
  }
  return ticks;
}

double X(const Range& range, double v) { return kLeft + range.Part(v) * (kWidth - kLeft - kRight); }
double Y(const Range& range, double v) {
  return kHeight - kBottom - range.Part(v) * (kHeight - kTop - kBottom);
}

void DrawAxes(const Chart& chart, const Range& x, const Range& y, std::string& out) {
  for (const double t : Ticks(y, 5)) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kWidth - kRight, Y(y, t), Y(y, t), kLeft - 6, Y(y, t) + 4, ShortNumber(t));
  }
  for (const double t : Ticks(x, 5)) {
    out +=
        fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                    X(x, t), kHeight - kBottom + 16, ShortNumber(t));
  }
  out += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                     kWidth - kRight, kHeight - 2, EscapeHtml(chart.x_name));
}

void DrawSeries(const ChartSeries& series, size_t k, const Range& x, const Range& y,
                std::string& out) {
  std::string path;
  for (const auto& [px, py] : series.points) {
    path += fmt::format("{:.1f},{:.1f} ", X(x, px), Y(y, py));
  }
  out += fmt::format("<polyline class=\"line s{}\" points=\"{}\"/>\n", k, path);
  const bool dots = (series.dots && series.points.size() <= 60) || series.points.size() == 1;
  for (const auto& [px, py] : series.points) {
    if (!dots) break;
    out += fmt::format("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", k,
                       X(x, px), Y(y, py));
  }
}

// What the page's script shows under the pointer: [["train", [[x, y, px, py], …]], …].
std::string PointsJson(const std::vector<ChartSeries>& all, const Range& x, const Range& y) {
  std::string json = "[";
  for (size_t k = 0; k < all.size(); ++k) {
    json += fmt::format("{}[\"{}\",[", k == 0 ? "" : ",", EscapeHtml(all[k].name));
    for (size_t i = 0; i < all[k].points.size(); ++i) {
      const auto& [px, py] = all[k].points[i];
      json += fmt::format("{}[{:.6g},{:.6g},{:.1f},{:.1f}]", i == 0 ? "" : ",", px, py, X(x, px),
                          Y(y, py));
    }
    json += "]]";
  }
  return json + "]";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\\':
        out += "&#92;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ShortNumber(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return fmt::format("{:.2g}", value);
  if (size < 1000) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

std::string DrawChart(const Chart& chart) {
  std::vector<ChartSeries> all;
  Range x, y;
  for (const ChartSeries& series : chart.series) {
    all.push_back(Thin(series));
    for (const auto& [px, py] : all.back().points) {
      x.Add(px);
      y.Add(py);
    }
  }
  x.Widen(0);
  y.Widen(0.05);
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" data-points=\"{}\">\n",
                  kWidth, kHeight, EscapeHtml(chart.title), EscapeHtml(PointsJson(all, x, y)));
  DrawAxes(chart, x, y, out);
  for (size_t k = 0; k < all.size(); ++k) DrawSeries(all[k], k, x, y, out);
  return out + "</svg>\n";
}

}  // namespace catamaran

// train/chart.h
//
// Curves as SVG, for report.h. Colours come from the page: series k has the class "s<k>".

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catamaran {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x rises; y that are not finite are left out
  bool dots = false;                              // few points that matter, each to be seen
};

struct Chart {
  std::string title;
  std::string x_name;
  std::vector<ChartSeries> series;
};

// An <svg> element. Series of many points are drawn as averages of neighbours.
std::string DrawChart(const Chart& chart);

// With &amp; and the like for what HTML does not take as it is.
std::string EscapeHtml(std::string_view text);

// A number with four digits or so: "0.8123", "12,345", "1.2e-06".
std::string ShortNumber(double value);

}  // namespace catamaran

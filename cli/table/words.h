// cli/table/words.h
//
// How the table commands write numbers, times and what a table was told.

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "catamaran/table/table_config.h"

namespace catamaran::cli {

using Json = nlohmann::ordered_json;

std::string WithCommas(int64_t n);                        // "12,345,678"
std::string CountText(int64_t n, std::string_view what);  // "1 row", "12,345 rows"
std::string BytesText(uint64_t n);                        // "1.18 MB"
std::string TimeText(int64_t nanoseconds);      // "2026-11-15 13:52:04 UTC"; "never" for 0
std::string DurationText(int64_t nanoseconds);  // "30 days"
std::string NumbersText(std::span<const float> numbers);  // "0.25 -1 3e-05"

// A number of JSON, or its name as text where JSON has none (NaN, infinities).
Json NumberJson(double number);
Json NumbersJson(std::span<const float> numbers);

std::string_view StoreName(RowStore store);
// "rowwise_adagrad(lr=0.05)": what differs from the defaults, lr always. "none" without one.
std::string OptimizerText(const TableConfig& config);
// What the declaration says beyond width, store and optimizer, as a list of "admit", "count(3)".
struct Setting {
  std::string name, value;
};
std::vector<Setting> SettingsOf(const TableConfig& config);
// "its initial value", "zeros", "the shared row"
std::string_view UnadmittedText(Unadmitted unadmitted);

}  // namespace catamaran::cli

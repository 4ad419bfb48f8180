// train/metrics_log.cc

#include "catamaran/train/metrics_log.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using Json = nlohmann::ordered_json;

Json MetricsJson(const MetricValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

}  // namespace

std::string FormatLine(const MetricsLine& line) {
  Json json = {{"kind", line.kind},
               {"step", line.step},
               {"epoch", line.epoch},
               {"rows", line.rows},
               {"seconds", std::round(line.seconds * 1e3) / 1e3},
               {"metrics", MetricsJson(line.metrics)}};
  if (line.rows_per_second > 0) json["rows_per_second"] = std::round(line.rows_per_second);
  if (line.best) json["best"] = true;
  if (line.refused > 0) json["refused"] = line.refused;
  if (line.event_time != 0) json["event_time"] = line.event_time;
  return json.dump() + "\n";
}

MetricsLine ParseLine(const std::string& text, const std::string& what) {
  try {
    const Json json = Json::parse(text);
    MetricsLine line;
    line.kind = json.at("kind");
    line.step = json.at("step");
    line.epoch = json.at("epoch");
    line.rows = json.at("rows");
    line.seconds = json.at("seconds");
    for (const auto& [name, value] : json.at("metrics").items()) {
      line.metrics.emplace_back(name, value.is_number() ? value.get<double>() : NAN);
    }
    line.rows_per_second = json.value("rows_per_second", 0.0);
    line.best = json.value("best", false);
    line.refused = json.value("refused", int64_t{0});
    line.event_time = json.value("event_time", int64_t{0});
    return line;
  } catch (const nlohmann::json::exception& error) {
    Fail(ErrorCode::kStorage, "{}: {}", what, error.what());
  }
}

std::vector<MetricsLine> ReadMetrics(const FileSystem& fs, const std::string& path) {
  std::vector<MetricsLine> lines;
  const std::string text = fs.ReadAll(path);
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(ParseLine(text.substr(begin, end - begin), fmt::format("{}:{}", path, number)));
    begin = end + 1;
  }
  return lines;
}

MetricsLog::MetricsLog(FileSystem& fs, const std::string& path, uint64_t size) : size_(size) {
  if (size == 0) {
    file_ = fs.OpenWrite(path);
    return;
  }
  const uint64_t found = fs.OpenRead(path)->size();
  if (found < size) {
    Fail(ErrorCode::kStorage,
         "{}: it has {} bytes; when the run was committed it had {}. Somebody has cut it", path,
         found, size);
  }
  if (found > size) fs.Truncate(path, size);
  file_ = fs.OpenAppend(path);
}

void MetricsLog::Append(const MetricsLine& line) {
  const std::string text = FormatLine(line);
  file_->Append(text);
  size_ += text.size();
}

}  // namespace catamaran

// cli/npy_values.cc

#include "cli/npy_values.h"

#include <map>

#include "catamaran/base/suggest.h"
#include "catamaran/data/npy.h"
#include "catamaran/tensor/cast.h"

namespace catamaran::cli {
namespace {

std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string close = Suggest(name, views);
  if (!close.empty()) return "; did you mean " + close + "?";
  std::string all;
  for (const std::string& candidate : candidates) all += (all.empty() ? "" : ", ") + candidate;
  return all.empty() ? "; it has none" : "; it has " + all;
}

Tensor Read(const FileSystem& fs, const std::string& path) {
  CheckReadable(fs, path);
  return ReadNpy(fs, path);
}

void Write(FileSystem& fs, const std::string& path, const Tensor& tensor) {
  Outside([&] {
    WriteNpy(fs, path, tensor.dtype() == DType::kBF16 ? Cast(tensor, DType::kF32) : tensor);
  });
}

}  // namespace

std::vector<FileArgument> ParseFileArguments(const std::vector<std::string>& texts,
                                             const std::string& option) {
  std::vector<FileArgument> arguments;
  std::map<std::string, std::string> seen;
  for (const std::string& text : texts) {
    const auto [name, files] = SplitAssignment(text, option);
    const size_t comma = files.find(',');
    FileArgument argument{name, files.substr(0, comma),
                          comma == files.npos ? "" : files.substr(comma + 1)};
    if (const auto [place, inserted] = seen.emplace(name, text); !inserted) {
      throw CommandError(
          kUsage, fmt::format("{} {}: {} is given twice: {}", option, text, name, place->second));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::vector<FedValue> ReadGivenFeeds(const FileSystem& fs, const Executable& executable,
                                     const std::vector<FileArgument>& feeds,
                                     std::vector<bool>& given) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < executable.num_inputs(); ++i) inputs.push_back(executable.input_name(i));
  std::vector<FedValue> values(inputs.size());
  given.assign(inputs.size(), false);
  for (const FileArgument& feed : feeds) {
    const auto found = std::find(inputs.begin(), inputs.end(), feed.name);
    if (found == inputs.end()) {
      Fail("{} has no argument {}{}", executable.name(), feed.name, DidYouMean(feed.name, inputs));
    }
    const size_t i = static_cast<size_t>(found - inputs.begin());
    given[i] = true;
    values[i].values = Read(fs, feed.values);
    if (feed.offsets.empty()) continue;
    if (!executable.input_type(i).is_ragged()) {
      Fail("{}: argument {} : {} is not ragged and takes no offsets; found {}", executable.name(),
           feed.name, executable.input_type(i).ToString(), feed.offsets);
    }
    values[i].offsets = Read(fs, feed.offsets);
    if (values[i].offsets.dtype() != DType::kI64 || values[i].offsets.rank() != 1) {
      Fail("{}: offsets are i64[N+1]; found {}{}", feed.offsets, Name(values[i].offsets.dtype()),
           values[i].offsets.shape().ToString());
    }
  }
  return values;
}

FeedValue FeedOf(const FedValue& value) {
  return value.offsets.dtype() == DType::kI64 ? FeedValue(value.values, value.offsets)
                                              : FeedValue(value.values);
}

std::vector<FedValue> ReadFeeds(const FileSystem& fs, const Executable& executable,
                                const std::vector<FileArgument>& feeds) {
  std::vector<bool> given;
  std::vector<FedValue> values = ReadGivenFeeds(fs, executable, feeds, given);
  std::string missing;
  for (size_t i = 0; i < values.size(); ++i) {
    if (given[i]) continue;
    const std::string& input = executable.input_name(i);
    missing += fmt::format("\n  {} : {}   --feed {}=FILE.npy{}", input,
                           executable.input_type(i).ToString(), input,
                           executable.input_type(i).is_ragged() ? ",OFFSETS.npy" : "");
  }
  if (!missing.empty()) Fail("{} needs more arguments:{}", executable.name(), missing);
  return values;
}

std::string ResultName(const Executable& executable, size_t i) {
  const std::string& name = executable.output_name(i);
  return name.empty() ? "out" + std::to_string(i) : name;
}

size_t ResultIndex(const Executable& executable, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < executable.num_outputs(); ++i) {
    names.push_back(ResultName(executable, i));
    if (names.back() == name) return i;
  }
  Fail("{} has no result {}{}", executable.name(), name, DidYouMean(name, names));
}

void WriteFetch(FileSystem& fs, const RunResult& result, size_t i, const FileArgument& fetch) {
  Write(fs, fetch.values, result.outputs[i]);
  if (fetch.offsets.empty()) return;
  if (result.offsets[i].rank() != 1 || result.offsets[i].dtype() != DType::kI64) {
    Fail("{} is not ragged and has no offsets for {}", fetch.name, fetch.offsets);
  }
  Write(fs, fetch.offsets, result.offsets[i]);
}

}  // namespace catamaran::cli

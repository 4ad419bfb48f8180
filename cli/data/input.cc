#include "catamaran/data/files/input_paths.h"
#include "cli/data/commands.h"
#include "cli/progress.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

constexpr int64_t kRowsAtOnce = 4096;

// One character, or the name of one that is hard to type.
char CharacterOf(const std::string& text, const char* option) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text == "space") return ' ';
  if (text.size() == 1) return text[0];
  throw CommandError(kUsage,
                     fmt::format("{} {}: wanted one character, tab or space", option, text));
}

}  // namespace

void AddInputOptions(CLI::App& command, DataInput& input) {
  ReaderOptions& options = input.options;
  TextOptions& text = options.text;
  const auto add = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what);
  };
  const auto list = [&](const char* name, auto& value, const char* what) {
    add(name, value, what)->delimiter(',')->allow_extra_args(false)->type_name("NAME,...");
  };
  add("--format", options.format, "the format (found by names and first bytes)");
  list("--columns", options.columns, "only these columns, in this order");
  add("--schema", input.schema_file, "a file with a line 'name: kind' for each column")
      ->type_name("FILE");
  add("--separator", input.separator, "CSV: what stands between fields: a character, or tab");
  add("--header", input.header, "CSV: whether the first row has names: yes or no")
      ->check(CLI::IsMember(std::vector<std::string>{"yes", "no"}));
  list("--names", text.names, "CSV: names of the fields");
  add("--skip-lines", text.skip_lines, "CSV: as many are passed over at the beginning")
      ->check(CLI::NonNegativeNumber);
  list("--missing", text.missing, "text: what stands for a missing value");
  add("--missing-integer", text.missing_integer, "text: what a missing i64 or u8 becomes");
  list("--hexadecimal", text.hexadecimal, "CSV: columns whose ids are hexadecimal");
  add("--list-separator", input.list_separator, "CSV: what stands between ids (space)");
  add("--first-index", text.first_index, "libsvm, libffm: the index that becomes id 0 (0)");
  add("--image-channels", options.files.image_channels, "images: 1 for grey, 3 for colour")
      ->check(CLI::IsMember(std::vector<int>{1, 3}));
}

void AddBadRowsOption(CLI::App& command, DataInput& input) {
  command
      .add_option("--bad-rows", input.options.bad_rows.limit,
                  "as many rows that cannot be read are skipped; one more is an error (0)")
      ->check(CLI::NonNegativeNumber);
}

std::vector<std::string> InputFiles(const Session& session, const DataInput& input) {
  std::vector<std::string> files = Outside([&] { return ExpandPaths(session.fs, input.paths); });
  for (const std::string& path : files) {
    if (!session.fs.IsDirectory(path)) CheckReadable(session.fs, path);
  }
  return files;
}

ReaderOptions MakeReaderOptions(const Session& session, const DataInput& input) {
  ReaderOptions options = input.options;
  if (!input.schema_file.empty()) {
    CheckReadable(session.fs, input.schema_file);
    options.schema = Schema::Parse(session.fs.ReadAll(input.schema_file), input.schema_file);
  }
  if (!input.separator.empty()) {
    options.text.separator = CharacterOf(input.separator, "--separator");
  }
  if (!input.list_separator.empty()) {
    options.text.list_separator = CharacterOf(input.list_separator, "--list-separator");
  }
  if (!input.header.empty()) options.text.header = input.header == "yes";
  options.bad_rows.report = [](const std::string& message) {
    fmt::print(stderr, "skipped: {}\n", message);
  };
  return options;
}

std::unique_ptr<RowReader> OpenInput(const Session& session, const DataInput& input) {
  const ReaderOptions options = MakeReaderOptions(session, input);
  const std::vector<std::string> files = InputFiles(session, input);
  if (files.size() == 1) return OpenReader(session.fs, files[0], options);
  return OpenReader(session.fs, files, options);
}

void ForEachBlock(RowReader& reader, const std::string& doing,
                  const std::function<void(const RowBlock&)>& use) {
  Progress progress(doing);
  const auto total = reader.num_rows();
  int64_t done = 0;
  RowBlock block;
  while (reader.Read(kRowsAtOnce, block)) {
    use(block);
    done += block.rows();
    if (total) progress.Show(static_cast<double>(done) / static_cast<double>(*total));
  }
}

void ReportSkipped(const RowReader& reader) {
  if (reader.bad_rows() == 0) return;
  fmt::print(stderr, "{} {} skipped\n", CountText(reader.bad_rows(), "bad row"),
             reader.bad_rows() == 1 ? "was" : "were");
}

}  // namespace catamaran::cli

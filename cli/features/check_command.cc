// catamaran features check FILE --data A --against B

#include "cli/data/row_text.h"
#include "cli/features/commands.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct CheckFeatures {
  FeaturesInput input;
  std::string against, against_format;
  std::vector<std::string> outputs;
};

// The rows of a reader one by one, transformed.
class Rows {
 public:
  Rows(std::unique_ptr<RowReader> reader, const Features& features,
       const std::vector<std::string>& outputs)
      : reader_(std::move(reader)), transform_(features.Bind(reader_->schema(), outputs)) {}

  const RowTransform& transform() const { return *transform_; }
  const RowBlock& block() const { return made_; }
  int64_t row() const { return row_; }

  bool Next() {
    if (++row_ < made_.rows()) return true;
    row_ = 0;
    if (!reader_->Read(4096, raw_)) return false;
    transform_->Apply(raw_, made_);
    return true;
  }

 private:
  std::unique_ptr<RowReader> reader_;
  std::shared_ptr<const RowTransform> transform_;
  RowBlock raw_, made_;
  int64_t row_ = -1;
};

ExitCode Check(const Session& session, const CheckFeatures& command) {
  const Features features = OpenFeatures(session, command.input);
  FeaturesInput other = command.input;
  other.data.paths = {command.against};
  other.data.options.format = command.against_format;
  Rows a(OpenFeaturesData(session, command.input, features), features, command.outputs);
  Rows b(OpenFeaturesData(session, other, features), features, command.outputs);
  const Schema& schema = a.transform().schema();
  if (const std::string difference = Difference(schema, b.transform().schema());
      !difference.empty()) {
    Fail("{}: {}", command.against, difference);
  }
  for (int64_t row = 0;; ++row) {
    const bool more = a.Next();
    if (more != b.Next()) {
      Fail("{} has {} rows than {}: {}", command.against, more ? "fewer" : "more",
           command.input.data.paths[0], row);
    }
    if (!more) {
      fmt::print("{} give the same features ({:016x})\n", CountText(row, "row"),
                 a.transform().hash());
      return kOk;
    }
    RowBlock left(schema), right(schema);
    left.AppendRows(a.block(), a.row(), a.row() + 1);
    right.AppendRows(b.block(), b.row(), b.row() + 1);
    if (left == right) continue;
    for (int c = 0; c < schema.size(); ++c) {
      const std::string x = ValueJson(schema[c], left[c], 0).dump();
      const std::string y = ValueJson(schema[c], right[c], 0).dump();
      if (x != y) Fail("row {}: '{}' is {} and {}", row, schema[c].name, x, y);
    }
    Fail("row {}: numbers differ in their bits", row);
  }
}

}  // namespace

void AddFeaturesCheck(CLI::App& features, Session& session) {
  auto* sub =
      features.add_subcommand("check", "Whether two files of the same rows give equal features");
  const auto command = std::make_shared<CheckFeatures>();
  AddFeaturesOptions(*sub, command->input);
  AddFeaturesData(*sub, command->input, true);
  sub->add_option("--against", command->against, "a file with the same rows")
      ->required()
      ->type_name("FILE");
  sub->add_option("--against-format", command->against_format,
                  "its format (found by its name and first bytes)");
  sub->add_option("--outputs", command->outputs, "only these")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  sub->footer(
      "\nFor rows logged at serving, as JSON lines, against those that training reads.\n"
      "\nExamples:\n"
      "  catamaran features check adult.features --data adult.data --against served.jsonl");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Check(session, *command); };
  });
}

}  // namespace catamaran::cli

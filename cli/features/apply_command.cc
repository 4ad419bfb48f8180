// catamaran features apply FILE --data … [-o OUT.rec | OUT.jsonl] [-n N]

#include <limits>

#include "catamaran/data/records/record_writer.h"
#include "cli/data/row_text.h"
#include "cli/data/text_table.h"
#include "cli/features/commands.h"
#include "cli/output_file.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ApplyCommand {
  FeaturesInput input;
  std::vector<std::string> outputs;
  std::string out;
  std::string where;
  int64_t rows = 0;
  bool json = false;
};

// Rows go to one of these, block by block.
class RowOutput {
 public:
  RowOutput(const Session& session, const ApplyCommand& command, const Schema& schema)
      : schema_(schema), json_(command.json) {
    if (command.out.ends_with(".rec")) {
      Outside([&] { records_ = std::make_unique<RecordWriter>(session.fs, command.out, schema); });
    } else if (!command.out.empty()) {
      lines_ = std::make_unique<OutputFile>(session.fs, command.out);
    } else if (!json_) {
      table_.resize(2);
      for (const Column& column : schema) {
        const bool number = column.kind == ColumnKind::kDense && column.shape.rank() == 0;
        align_.push_back(number ? Align::kRight : Align::kLeft);
        table_[0].push_back(column.name);
        table_[1].push_back(column.KindText());
      }
    }
  }

  void Add(const RowBlock& block) {
    if (records_) {
      Outside([&] { records_->Add(block); });
      return;
    }
    for (int64_t r = 0; r < block.rows(); ++r) {
      if (!lines_ && !json_) {
        auto& line = table_.emplace_back();
        for (int c = 0; c < schema_.size(); ++c) {
          line.push_back(ValueText(schema_[c], block[c], r));
        }
        continue;
      }
      Json row = Json::object();
      for (int c = 0; c < schema_.size(); ++c) {
        row[schema_[c].name] = ValueJson(schema_[c], block[c], r);
      }
      const std::string text = row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
      lines_ ? lines_->Append(text) : fmt::print("{}", text);
    }
  }

  void Finish() {
    if (records_) Outside([&] { records_->Finish(); });
    if (lines_) lines_->Keep();
    if (!table_.empty()) PrintTable(align_, table_);
  }

 private:
  const Schema& schema_;
  const bool json_;
  std::unique_ptr<RecordWriter> records_;
  std::unique_ptr<OutputFile> lines_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> table_;
};

ExitCode Apply(const Session& session, const ApplyCommand& command) {
  if (!command.out.empty() && !command.out.ends_with(".rec") && !command.out.ends_with(".jsonl")) {
    throw CommandError(kUsage,
                       fmt::format("{}: wanted a name that ends in .rec or .jsonl", command.out));
  }
  const Features features = OpenFeatures(session, command.input);
  const auto reader = OpenFeaturesData(session, command.input, features);
  const auto transform = features.Bind(reader->schema(), command.outputs);
  std::shared_ptr<const RowTransform> keep;
  if (!command.where.empty()) {
    keep = MakeFeatures(session.fs, "keep = " + command.where, "--where").Bind(reader->schema());
    if (keep->schema()[0].KindText() != "f32") {
      throw CommandError(kUsage, "--where: wanted a comparison, as \"rating >= 4\"");
    }
  }
  int64_t left = command.rows > 0      ? command.rows
                 : command.out.empty() ? 10
                                       : std::numeric_limits<int64_t>::max();
  RowOutput output(session, command, transform->schema());
  RowBlock raw, kept, chosen, made;
  int64_t rows = 0;
  while (left > 0 && reader->Read(std::min<int64_t>(left, 4096), raw)) {
    const RowBlock* in = &raw;
    if (keep) {
      keep->Apply(raw, kept);
      chosen.Begin(raw.schema());
      for (int64_t r = 0; r < raw.rows(); ++r) {
        const float value = kept[0].floats[static_cast<size_t>(r)];
        if (value != 0 && value == value) chosen.AppendRows(raw, r, r + 1);
      }
      in = &chosen;
    }
    transform->Apply(*in, made);
    output.Add(made);
    rows += made.rows();
    left -= made.rows();
  }
  output.Finish();
  ReportSkipped(*reader);
  if (!command.out.empty()) {
    fmt::print("{} in {}, features {:016x}\n", CountText(rows, "row"), command.out,
               transform->hash());
  }
  return kOk;
}

}  // namespace

void AddFeaturesApply(CLI::App& features, Session& session) {
  auto* sub = features.add_subcommand("apply", "Raw rows to features");
  const auto command = std::make_shared<ApplyCommand>();
  AddFeaturesOptions(*sub, command->input);
  AddFeaturesData(*sub, command->input, true);
  sub->add_option("--outputs", command->outputs, "only these, in the order of the file")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  sub->add_option("--where", command->where,
                  "only rows for which this is neither 0 nor missing, as \"payment_type == 1\"")
      ->type_name("EXPRESSION");
  sub->add_option("-o,--out", command->out, "a file of records or JSON lines (the screen)")
      ->type_name("OUT.rec");
  sub->add_option("-n,--rows", command->rows, "how many (10 on the screen, else all)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--json", command->json, "on the screen: whole values, a line for each row");
  sub->footer(
      "\nOUT is written whole or not at all.\n"
      "\nExamples:\n"
      "  catamaran features apply adult.features --data adult.data -n 3\n"
      "  catamaran features apply taxi.features --data trips.csv.gz --where \"payment_type == 1\" "
      "\\\n"
      "    -o trips.rec");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Apply(session, *command); };
  });
}

}  // namespace catamaran::cli

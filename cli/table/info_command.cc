// catamaran table info DIR|FILE [@TABLE] [--commit N] [--count] [--json]

#include "cli/table/commands.h"
#include "cli/table/table_rows.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct InfoCommand {
  std::vector<std::string> words;
  std::optional<uint64_t> commit;
  bool count = false, json = false;
};

// What `info` says of one table.
struct TableFacts {
  const TableRows& table;
  std::vector<FeatureInfo> features;
  bool counted = false;

  uint64_t bytes() const {
    uint64_t sum = static_cast<uint64_t>(table.bytes_on_disk());
    for (const RowFileRef& file : table.saved().files) sum += file->mark().size;
    return sum;
  }
  int64_t rows(RowClass c) const { return table.num_rows(c); }
};

TableFacts Gather(const TableRows& table, bool count) {
  TableFacts facts{table, {}, count};
  const TableConfig& config = table.config();
  std::vector<int64_t> rows(config.features.size() + 1);
  if (count && !table.serving()) {
    Progress progress("Counting " + table.saved().where);
    table.ForEach(&progress, [&](RowClass c, const uint32_t* record) {
      const uint32_t feature = RecordFeature(record);
      if (c != RowClass::kWaiting && feature < rows.size()) ++rows[feature];
    });
  }
  if (!table.serving()) facts.features = table.policies().features.Info(rows);
  return facts;
}

std::string FileText(const RowFile& file) {
  const RowFileHead& head = file.head();
  int64_t rows = 0;
  for (int c = 0; c < kRowClasses; ++c) rows += file.num_rows(static_cast<RowClass>(c));
  std::string text =
      head.full
          ? fmt::format("all at commit {}: {}", head.commit, CountText(rows, "record"))
          : fmt::format("changes from commit {} to {}: {}, {} deleted", head.since, head.commit,
                        CountText(rows, "record"), WithCommas(file.num_deleted()));
  return fmt::format("{}, {}", text, BytesText(file.mark().size));
}

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

void PrintFact(std::string_view name, std::string_view value) {
  fmt::print("  {:<11}{}\n", name, value);
}

void PrintFeatures(const TableFacts& facts) {
  if (facts.features.empty()) return;
  size_t width = 0;
  for (const FeatureInfo& feature : facts.features) width = std::max(width, feature.name.size());
  for (size_t i = 0; i < facts.features.size(); ++i) {
    const FeatureInfo& feature = facts.features[i];
    PrintFact(
        i == 0 ? "features" : "",
        fmt::format("{:<{}}  {}{}, shows {:.6g}, clicks {:.6g}", feature.name, width,
                    facts.counted ? CountText(feature.rows, "row") + ", " : "",
                    CountText(feature.occurrences, "occurrence"), feature.shows, feature.clicks));
  }
}

void Print(const Session& session, const TableFacts& facts) {
  const TableRows& table = facts.table;
  const SavedTable& saved = table.saved();
  const TableConfig& config = table.config();
  fmt::print("{}: u64 -> f32[{}], commit {}{}\n",
             session.out.Bold(saved.by_itself() ? saved.where : "@" + saved.name), config.width,
             saved.commit,
             saved.step < 0 ? ""
                            : fmt::format(", step {}, event time {}", WithCommas(saved.step),
                                          TimeText(saved.event_time)));
  const int64_t full = facts.rows(RowClass::kFull), narrow = facts.rows(RowClass::kNarrow);
  std::string rows = WithCommas(full + narrow);
  if (narrow > 0) rows += fmt::format(", {} of them one column wide", WithCommas(narrow));
  if (table.rows_on_disk() > 0) {
    rows +=
        fmt::format(" in files; about {} in the store on disk", WithCommas(table.rows_on_disk()));
  }
  PrintFact("rows", rows);
  if (const int64_t waiting = facts.rows(RowClass::kWaiting); waiting > 0) {
    PrintFact("waiting", CountText(waiting, "key") + ", counted and not admitted yet");
  }
  if (table.serving()) {
    PrintFact("numbers",
              fmt::format("{}, for serving: no slots, no metadata", StoreName(table.store())));
  } else {
    PrintFact("numbers", fmt::format("{}; a row has {} bytes", StoreName(table.store()),
                                     table.rules().layout().bytes(RowClass::kFull)));
    PrintFact("optimizer", OptimizerText(config));
  }
  for (const Setting& setting : SettingsOf(config)) PrintFact(setting.name, setting.value);
  if (!table.serving()) {
    PrintFact("expired", CountText(table.policies().expired.load(), "row") + " so far");
  }
  PrintFeatures(facts);
  PrintFact("bytes", BytesText(facts.bytes()));
  for (size_t i = 0; i < saved.files.size(); ++i) {
    PrintFact(i == 0 ? "files" : "",
              fmt::format("{}: {}", BaseName(saved.files[i]->path()), FileText(*saved.files[i])));
  }
  for (size_t i = 0; i < saved.kept.size(); ++i) {
    PrintFact(i == 0 ? "kept" : "",
              fmt::format("{}: {}", BaseName(saved.kept[i]->path()), FileText(*saved.kept[i])));
  }
  if (!saved.cold.empty()) {
    PrintFact("on disk", fmt::format("{}: {}", BaseName(saved.cold),
                                     BytesText(static_cast<uint64_t>(table.bytes_on_disk()))));
  }
}

Json FileJson(const RowFile& file) {
  Json json;
  json["name"] = BaseName(file.path());
  json["full"] = file.head().full;
  if (!file.head().full) json["since"] = file.head().since;
  json["commit"] = file.head().commit;
  json["rows"] = file.num_rows(RowClass::kFull);
  json["narrow_rows"] = file.num_rows(RowClass::kNarrow);
  json["waiting"] = file.num_rows(RowClass::kWaiting);
  json["deleted"] = file.num_deleted();
  json["bytes"] = file.mark().size;
  return json;
}

Json FactsJson(const TableFacts& facts) {
  const TableRows& table = facts.table;
  const SavedTable& saved = table.saved();
  const TableConfig& config = table.config();
  Json json;
  json["table"] = saved.by_itself() ? Json() : Json("@" + saved.name);
  json["commit"] = saved.commit;
  if (saved.step >= 0) {
    json["step"] = saved.step;
    json["event_time"] = saved.event_time;
  }
  json["kind"] = table.serving() ? "serving" : "training";
  json["width"] = config.width;
  json["store"] = StoreName(table.store());
  json["rows"] = facts.rows(RowClass::kFull) + facts.rows(RowClass::kNarrow);
  json["narrow_rows"] = facts.rows(RowClass::kNarrow);
  json["waiting"] = facts.rows(RowClass::kWaiting);
  if (!saved.cold.empty()) {
    json["rows_on_disk"] = table.rows_on_disk();
    json["bytes_on_disk"] = table.bytes_on_disk();
  }
  json["bytes"] = facts.bytes();
  if (!table.serving()) {
    json["row_bytes"] = table.rules().layout().bytes(RowClass::kFull);
    json["optimizer"] = OptimizerText(config);
    json["expired"] = table.policies().expired.load();
  }
  for (const Setting& setting : SettingsOf(config)) json["settings"][setting.name] = setting.value;
  json["features"] = Json::array();
  for (const FeatureInfo& feature : facts.features) {
    Json one;
    one["name"] = feature.name;
    if (facts.counted) one["rows"] = feature.rows;
    one["occurrences"] = feature.occurrences;
    one["shows"] = NumberJson(feature.shows);
    one["clicks"] = NumberJson(feature.clicks);
    json["features"].push_back(std::move(one));
  }
  for (const char* name : {"files", "kept"}) {
    json[name] = Json::array();
    for (const RowFileRef& file : std::string_view(name) == "files" ? saved.files : saved.kept) {
      json[name].push_back(FileJson(*file));
    }
  }
  return json;
}

ExitCode Info(Session& session, const InfoCommand& command) {
  const TableArgument argument = TakeTableArgument(command.words);
  std::vector<SavedTable> tables = OpenTables(session, argument, command.commit);
  if (tables.empty() && !command.json) fmt::print("{}: no tables\n", argument.path);
  Json json = Json::array();
  for (size_t i = 0; i < tables.size(); ++i) {
    const TableRows table(std::move(tables[i]));
    const TableFacts facts = Gather(table, command.count);
    if (command.json) {
      json.push_back(FactsJson(facts));
    } else {
      if (i > 0) fmt::print("\n");
      Print(session, facts);
    }
  }
  if (command.json) fmt::print("{}\n", json.dump(2));
  return kOk;
}

}  // namespace

void AddTableInfo(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("info", "What a saved table is and what lies where");
  const auto command = std::make_shared<InfoCommand>();
  sub->add_option("DIR|FILE", command->words,
                  "state directory, then @TABLE for one of its tables; or a row file")
      ->required()
      ->type_name("[@TABLE]");
  sub->add_option("--commit", command->commit, "an older commit that is kept (the newest)");
  sub->add_flag("--count", command->count, "read all rows to count those of each feature");
  sub->add_flag("--json", command->json, "as JSON: an array with an object a table");
  sub->footer(
      "\nReads heads of files only, unless --count is given. Shows and clicks of a feature are "
      "all\n"
      "that were observed so far, without fading.");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Info(session, *command); };
  });
}

}  // namespace catamaran::cli

// catamaran table get DIR|FILE [@TABLE] KEY... [--feature NAME] [--json]

#include "catamaran/table/files/serving_table.h"
#include "cli/table/commands.h"
#include "cli/table/table_rows.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct GetCommand {
  std::vector<std::string> words;
  std::optional<uint64_t> commit;
  std::string feature;
  bool json = false;
};

// One key, and what the table has for it.
struct Answer {
  uint64_t id = 0;   // as the user wrote it
  uint64_t key = 0;  // in the table
  TableRows::Found found = TableRows::Found::kNothing;
  RowClass row_class = RowClass::kWaiting;
  std::vector<uint32_t> record;
  std::vector<float> reads;  // what a program sees; empty: nobody knows

  bool has_row() const {
    return found == TableRows::Found::kRow && row_class != RowClass::kWaiting;
  }
  bool waits() const { return found == TableRows::Found::kRow && row_class == RowClass::kWaiting; }
};

// What a key without a row reads as. Nobody knows it of changes by themselves: then it stays empty.
std::vector<float> ReadMissing(const TableRows& table, uint64_t key) {
  std::vector<float> reads;
  if (!table.saved().files.front()->head().full) return reads;
  reads.resize(static_cast<size_t>(table.config().width));
  if (!table.serving()) {
    table.policies().ReadMissing(key, reads.data());
    return reads;
  }
  std::exception_ptr failure;
  const Done done{[](void* context, std::exception_ptr error) {
                    *static_cast<std::exception_ptr*>(context) = std::move(error);
                  },
                  &failure};
  ServingTable(table.saved().files).Pull({&key, 1}, reads, done);  // files: done when it returns
  if (failure) std::rethrow_exception(failure);
  return reads;
}

Answer Look(const TableRows& table, uint64_t id, uint64_t salt) {
  Answer answer;
  answer.id = id;
  answer.key = SaltedKey(id, salt);
  answer.found = table.Find(answer.key, &answer.row_class, &answer.record);
  if (answer.has_row()) {
    answer.reads.resize(static_cast<size_t>(table.config().width));
    table.Read(answer.row_class, answer.record.data(), answer.reads.data());
  } else {
    answer.reads = ReadMissing(table, answer.key);
  }
  return answer;
}

// The slots of a row's optimizer, by name.
std::vector<std::pair<std::string, std::vector<float>>> SlotsOf(const TableRows& table,
                                                                const Answer& answer) {
  std::vector<std::pair<std::string, std::vector<float>>> slots;
  if (!table.config().optimizer) return slots;
  const RowLayout::Class& layout = table.rules().layout().of(answer.row_class);
  for (int k = 0; k < layout.num_slots; ++k) {
    const size_t slot = static_cast<size_t>(k);
    std::vector<float> values;
    for (int i = 0; i < layout.slot_words[slot]; ++i) {
      values.push_back(RecordFloat(answer.record.data(), layout.slot[slot] + i));
    }
    slots.emplace_back(table.config().optimizer->slots()[slot].name, std::move(values));
  }
  return slots;
}

// Of its record; empty for none.
std::string FeatureOf(const TableRows& table, const Answer& answer) {
  const uint32_t feature = RecordFeature(answer.record.data());
  const std::vector<std::string>& names = table.config().features;
  return feature == 0 || feature > names.size() ? "" : names[feature - 1];
}

double ScoreOf(const TableRows& table, const Answer& answer) {
  const uint32_t seen = answer.record[row_words::kLastSeen];
  return table.rules().Score(answer.record.data(), std::max(table.now(), seen));
}

int64_t SeenNanoseconds(const Answer& answer) {
  return int64_t{answer.record[row_words::kLastSeen]} * kNanosecondsPerSecond;
}

void PrintFact(std::string_view name, std::string_view value) {
  fmt::print("  {:<11}{}\n", name, value);
}

void PrintSeen(const TableRows& table, const Answer& answer) {
  PrintFact("seen", fmt::format("shows {}, clicks {}, last at {}",
                                RecordFloat(answer.record.data(), row_words::kShow),
                                RecordFloat(answer.record.data(), row_words::kClick),
                                TimeText(SeenNanoseconds(answer))));
  PrintFact("score", fmt::format("{:.6g}", ScoreOf(table, answer)));
  if (const std::string feature = FeatureOf(table, answer); !feature.empty()) {
    PrintFact("feature", feature);
  }
}

void Print(const Session& session, const TableRows& table, const Answer& answer) {
  const TableConfig& config = table.config();
  const std::string key = session.out.Bold(std::to_string(answer.id));
  const std::string as = answer.key == answer.id ? "" : fmt::format(" (key {})", answer.key);
  if (answer.found == TableRows::Found::kDeleted) {
    fmt::print("{}{}: deleted by these changes\n", key, as);
    return;
  }
  if (!answer.has_row()) {
    fmt::print("{}{}: no row{}\n", key, as, answer.reads.empty() ? " in these changes" : "");
    if (answer.waits()) {
      PrintFact("waiting", fmt::format("seen {} of {} times", answer.record[row_words::kCount],
                                       config.admit.count));
      PrintSeen(table, answer);
    }
    if (!answer.reads.empty()) {
      PrintFact("reads as", fmt::format("{}: {}", UnadmittedText(config.unadmitted),
                                        NumbersText(answer.reads)));
    }
    return;
  }
  const int columns = table.saved().newest().layout().of(answer.row_class).columns;
  fmt::print("{}{}:{}\n", key, as,
             answer.row_class == RowClass::kNarrow ? " one column wide so far" : "");
  PrintFact("embedding", NumbersText(std::span(answer.reads).first(static_cast<size_t>(columns))));
  if (table.serving()) return;
  for (const auto& [name, values] : SlotsOf(table, answer)) {
    PrintFact("slot " + name, NumbersText(values));
  }
  if (table.rules().layout().counts_updates) {
    PrintFact("updates", WithCommas(answer.record[row_words::kUpdates]));
  }
  PrintSeen(table, answer);
}

Json AnswerJson(const TableRows& table, const Answer& answer) {
  Json json;
  json["key"] = answer.key;
  if (answer.key != answer.id) json["id"] = answer.id;
  const char* state = answer.has_row()                             ? "row"
                      : answer.waits()                             ? "waiting"
                      : answer.found == TableRows::Found::kDeleted ? "deleted"
                                                                   : "none";
  json["state"] = state;
  if (!answer.reads.empty()) json["reads"] = NumbersJson(answer.reads);
  if (table.serving() || answer.found != TableRows::Found::kRow) return json;
  const uint32_t* record = answer.record.data();
  if (answer.waits()) {
    json["count"] = record[row_words::kCount];
  } else {
    json["columns"] = table.rules().layout().of(answer.row_class).columns;
    for (const auto& [name, values] : SlotsOf(table, answer)) {
      json["slots"][name] = NumbersJson(values);
    }
    if (table.rules().layout().counts_updates) json["updates"] = record[row_words::kUpdates];
  }
  json["shows"] = NumberJson(static_cast<double>(RecordFloat(record, row_words::kShow)));
  json["clicks"] = NumberJson(static_cast<double>(RecordFloat(record, row_words::kClick)));
  json["last_seen"] = record[row_words::kLastSeen];
  json["score"] = NumberJson(ScoreOf(table, answer));
  const std::string feature = FeatureOf(table, answer);
  json["feature"] = feature.empty() ? Json() : Json(feature);
  return json;
}

ExitCode Get(Session& session, const GetCommand& command) {
  std::vector<std::string> words;
  const TableArgument argument = TakeTableArgument(command.words, &words);
  if (words.empty()) throw CommandError(kUsage, "wanted at least one KEY");
  std::vector<uint64_t> ids;
  for (const std::string& word : words) {
    try {
      ids.push_back(ParseKey(word, "KEY"));
    } catch (const Error& error) {
      throw CommandError(kUsage, error.what());
    }
  }
  const TableRows table(OpenTable(session, argument, command.commit));
  uint64_t salt = 0;
  if (!command.feature.empty()) {
    FeatureNamed(table.config().features, command.feature, table.saved().where);
    salt = FeatureSalt(command.feature);
  }
  Json json = Json::array();
  for (const uint64_t id : ids) {
    const Answer answer = Look(table, id, salt);
    if (command.json) {
      json.push_back(AnswerJson(table, answer));
    } else {
      Print(session, table, answer);
    }
  }
  if (command.json) fmt::print("{}\n", json.dump(2));
  return kOk;
}

}  // namespace

void AddTableGet(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("get", "The rows of some keys: numbers, slots, metadata, score");
  const auto command = std::make_shared<GetCommand>();
  sub->add_option("DIR|FILE", command->words,
                  "state directory and @TABLE, or a row file; then keys, as 17 or 0x11")
      ->required()
      ->type_name("[@TABLE] KEY");
  sub->add_option("--feature", command->feature, "keys are ids of this feature of the table");
  sub->add_option("--commit", command->commit, "an older commit that is kept (the newest)");
  sub->add_flag("--json", command->json, "as JSON: an array with an object a key");
  sub->footer(
      "\nA key without a row says what it reads as. The score is that at the event time of the\n"
      "commit; shows and clicks are as of when the key was last seen.\n"
      "\nExamples:\n"
      "  catamaran table get model @feat 17 18\n"
      "  catamaran table get model @feat 17 --feature user --json\n"
      "  catamaran table get feat.rows 17");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Get(session, *command); };
  });
}

}  // namespace catamaran::cli

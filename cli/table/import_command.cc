// catamaran table import DIR @TABLE IN --program FILE

#include <unordered_map>

#include "catamaran/commit/state_file.h"
#include "catamaran/table/row_rules.h"
#include "cli/table/commands.h"
#include "cli/table/row_input.h"
#include "cli/table/row_output.h"
#include "cli/table/saved_table.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ImportCommand {
  std::vector<std::string> words;
  std::string program, keys, feature;
  uint64_t seed = 1;
};

// Turns rows of a file into records of a table and puts them there.
class Importer {
 public:
  Importer(DurableTable& table, const std::string& feature, int64_t event_time,
           const std::string& where)
      : table_(table),
        rules_(table.config()),
        now_(LastSeenSeconds(event_time)),
        where_(where),
        feature_(feature),
        record_(static_cast<size_t>(rules_.layout().of(RowClass::kFull).words)),
        before_(record_.size()) {
    if (feature.empty()) return;
    feature_index_ = FeatureNamed(table.config().features, feature, where);
    salt_ = FeatureSalt(feature);
  }

  void Put(const InputRow& row) {
    const std::string at(row.where);
    const uint64_t key = SaltedKey(row.key, salt_);
    const auto [place, is_new] = seen_.emplace(key, added_ + replaced_);
    if (!is_new) Fail("{}: the key {} was there before", at, row.key);
    const bool narrow = row.values.size() == 1 && table_.config().width > 1;
    if (narrow && !rules_.grows()) {
      Fail("{}: it has one number; rows of the table have {} and do not grow", at,
           table_.config().width);
    }
    const RowClass c = narrow ? RowClass::kNarrow : RowClass::kFull;
    RowClass class_before;
    const bool there = table_.Get(key, &class_before, before_.data());
    const bool had_row = there && class_before != RowClass::kWaiting;
    ++(had_row ? replaced_ : added_);

    int feature = row.feature ? FeatureOf(*row.feature, at) : feature_index_;
    if (feature == 0 && there) feature = static_cast<int>(RecordFeature(before_.data()));
    rules_.Make(c, key, feature, now_, record_.data());
    rules_.codec().Encode(row.values.data(), static_cast<int64_t>(row.values.size()), key,
                          kInitialStep, record_.data() + rules_.layout().of(c).embedding);
    for (const int word : {row_words::kShow, row_words::kClick, row_words::kLastSeen}) {
      if (there) record_[static_cast<size_t>(word)] = before_[static_cast<size_t>(word)];
    }
    if (row.shows) SetRecordFloat(record_.data(), row_words::kShow, *row.shows);
    if (row.clicks) SetRecordFloat(record_.data(), row_words::kClick, *row.clicks);
    if (row.last_seen) record_[row_words::kLastSeen] = *row.last_seen;
    if (row.updates && rules_.layout().counts_updates) record_[row_words::kUpdates] = *row.updates;
    table_.Put(c, record_.data());
  }

  int64_t added() const { return added_; }
  int64_t replaced() const { return replaced_; }

 private:
  // The feature that a row of the file says it has.
  int FeatureOf(std::string_view name, const std::string& at) const {
    if (feature_index_ != 0 && !name.empty() && name != feature_) {
      Fail("{}: the row is of feature {}; --feature says {}", at, name, feature_);
    }
    if (name.empty()) return feature_index_;
    return FeatureNamed(table_.config().features, std::string(name), at);
  }

  DurableTable& table_;
  const RowRules rules_;
  const uint32_t now_;
  const std::string where_;
  const std::string feature_;
  int feature_index_ = 0;
  uint64_t salt_ = 0;
  std::unordered_map<uint64_t, int64_t> seen_;
  std::vector<uint32_t> record_, before_;
  int64_t added_ = 0, replaced_ = 0;
};

DurableTable& FindTable(State& state, const std::string& program, const std::string& name) {
  const int i = state.Find(name);
  if (i < 0 || state.info(static_cast<size_t>(i)).kind != StateKind::kTable) {
    Fail("{}: the program has no table @{}", program, name);
  }
  return state.table(name);
}

ExitCode Import(Session& session, const ImportCommand& command) {
  std::vector<std::string> rest;
  const TableArgument argument = TakeTableArgument(command.words, &rest);
  if (rest.size() != 1 || argument.table.empty()) {
    throw CommandError(kUsage, "wanted DIR @TABLE IN");
  }
  const std::string& in = rest[0];
  const bool csv = in.ends_with(".csv"), npy = in.ends_with(".npy");
  if (!csv && !npy) {
    throw CommandError(kUsage, fmt::format("{}: wanted a name that ends in .csv or .npy", in));
  }
  if (csv && !command.keys.empty()) throw CommandError(kUsage, "--keys is about IN.npy");

  const ProgramFile file = LoadProgram(session, command.program);
  CheckReadable(session.fs, in);
  const auto lock = Outside([&] { return LockState(session.fs, argument.path); });
  LoadedState loaded;
  const bool saved = HasState(session.fs, argument.path);
  if (saved) {
    LoadOptions options;
    options.rows_later = true;
    loaded = LoadState(session.fs, argument.path, file.flat, options);
    for (const std::string& warning : loaded.warnings) fmt::print(stderr, "note: {}\n", warning);
  } else {
    StateOptions options;
    options.tables.scratch = ScratchOf(argument.path);
    loaded.state = State::Create(file.flat, command.seed, options);
  }
  State& state = *loaded.state;
  DurableTable& table = FindTable(state, command.program, argument.table);

  Importer importer(table, command.feature, state.event_time(),
                    fmt::format("{}: @{}", command.program, argument.table));
  {
    Progress progress("Importing " + in);
    const auto put = [&](const InputRow& row) { importer.Put(row); };
    if (csv) {
      ReadCsvRows(session.fs, in, table.width(), progress, put);
    } else {
      ReadNpyRows(session.fs, in, command.keys.empty() ? KeysPathOf(in) : command.keys,
                  table.width(), progress, put);
    }
  }
  CommitOptions options;
  options.compact = false;
  const auto commits =
      saved ? MakeCommits(session.fs, argument.path, file.flat, state, loaded, options)
            : MakeCommits(session.fs, argument.path, file.flat, state, options);
  const CommitResult result = Outside([&] { return commits->Commit(); });
  fmt::print("{} added and {} replaced in @{}: commit {} of {}\n",
             CountText(importer.added(), "row"), WithCommas(importer.replaced()), argument.table,
             result.commit, argument.path);
  return kOk;
}

}  // namespace

void AddTableImport(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("import", "Rows from a CSV or .npy file, as a new commit");
  const auto command = std::make_shared<ImportCommand>();
  sub->add_option("DIR", command->words,
                  "state directory (made if missing), @TABLE, and IN.csv or IN.npy")
      ->required()
      ->type_name("@TABLE IN");
  sub->add_option("--program", command->program, "program that declares the table (.ctm)")
      ->required();
  sub->add_option("--keys", command->keys, "keys of IN.npy, u64[N] (IN.keys.npy unless given)");
  sub->add_option("--feature", command->feature, "keys are ids of this feature of the table");
  sub->add_option("--seed", command->seed, "of a state that is made")->capture_default_str();
  sub->footer(
      "\nIN.csv has a line of names (key, e0, e1, …; also feature, shows, clicks, last_seen, "
      "updates\n"
      "if you like; what export writes), or none: the key, then the numbers. IN.npy has f32[N, "
      "W].\n"
      "\nEach row takes the place of the key's row, if there is one. Its optimizer slots begin "
      "anew,\n"
      "as the table declares. Metadata that the file does not have is that of the row before; of "
      "a\n"
      "new row: never shown, seen at the event time of the state. Admission is not asked.\n"
      "\nAll rows become one commit, or, if something is wrong with the file, none: the mistake "
      "is\n"
      "named with its line and the directory stays as it was.\n"
      "\nExamples:\n"
      "  catamaran table import model @feat feat.csv --program ctr.ctm\n"
      "  catamaran table import model @feat user.npy --feature user --program ctr.ctm");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Import(session, *command); };
  });
}

}  // namespace catamaran::cli

// catamaran table export DIR|FILE [@TABLE] OUT [--store …] [--min-score X] [--since COMMIT] …

#include <set>

#include "catamaran/table/files/serving_table.h"
#include "cli/table/commands.h"
#include "cli/table/row_output.h"
#include "cli/table/table_rows.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ExportCommand {
  std::vector<std::string> words;
  std::optional<uint64_t> commit;
  std::optional<uint64_t> since;
  std::optional<double> min_score;
  std::string store;  // empty: not given
  std::string feature;
  bool metadata = false, training = false;
};

enum class Format { kCsv, kNpy, kRows };

Format FormatOf(const std::string& path) {
  if (path.ends_with(".csv")) return Format::kCsv;
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".rows")) return Format::kRows;
  throw CommandError(kUsage,
                     fmt::format("{}: wanted a name that ends in .csv, .npy or .rows", path));
}

// Options that mean nothing for a format would otherwise be believed.
void CheckOptions(const ExportCommand& command, Format format) {
  const auto only = [](bool given, const char* option, const char* what) {
    if (given) throw CommandError(kUsage, fmt::format("{} is about {}", option, what));
  };
  if (format == Format::kRows) {
    only(command.metadata, "--metadata", "OUT.csv; row files have it with --training");
    only(!command.feature.empty(), "--feature", "OUT.csv and OUT.npy");
    if (command.training) {
      only(!command.store.empty(), "--store", "exports for serving: leave out --training");
      only(command.min_score.has_value(), "--min-score",
           "exports for serving: leave out --training");
    }
  } else {
    only(command.since.has_value(), "--since", "OUT.rows");
    only(!command.store.empty(), "--store", "OUT.rows");
    only(command.training, "--training", "OUT.rows");
    if (format == Format::kNpy) only(command.metadata, "--metadata", "OUT.csv");
  }
}

RowStore StoreNamed(const std::string& name, RowStore otherwise) {
  for (const RowStore store : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
    if (StoreName(store) == name) return store;
  }
  return otherwise;
}

// Which rows go to CSV and .npy, and what stands for their keys.
struct Selection {
  const TableRows& table;
  int feature = 0;  // 0: all
  uint64_t salt = 0;
  std::optional<double> min_score;

  bool Has(RowClass c, const uint32_t* record) const {
    if (c == RowClass::kWaiting) return false;
    if (feature != 0 && static_cast<int>(RecordFeature(record)) != feature) return false;
    return !min_score || table.rules().Score(record, table.now()) >= *min_score;
  }
  bool all() const { return feature == 0 && !min_score; }
};

Selection Select(const ExportCommand& command, const TableRows& table) {
  Selection selection{table, 0, 0, command.min_score};
  if (table.serving() && (command.min_score || command.metadata || !command.feature.empty())) {
    Fail("{}: an export for serving has no metadata, and so no scores and features",
         table.saved().where);
  }
  if (!command.feature.empty()) {
    selection.feature = FeatureNamed(table.config().features, command.feature, table.saved().where);
    selection.salt = FeatureSalt(command.feature);
  }
  return selection;
}

int64_t CountRows(const TableRows& table, const Selection& selection) {
  if (selection.all() && table.saved().cold.empty()) {
    return table.num_rows(RowClass::kNarrow) + table.num_rows(RowClass::kFull);
  }
  Progress progress("Counting " + table.saved().where);
  int64_t count = 0;
  table.ForEach(&progress, [&](RowClass c, const uint32_t* record) {
    if (selection.Has(c, record)) ++count;
  });
  return count;
}

void ExportForOthers(Session& session, const ExportCommand& command, const TableRows& table,
                     Format format, const std::string& path) {
  const Selection selection = Select(command, table);
  const auto out = format == Format::kCsv
                       ? MakeCsvOutput(session.fs, path, table, command.metadata)
                       : MakeNpyOutput(session.fs, path, table, CountRows(table, selection));
  int64_t count = 0;
  {
    Progress progress("Exporting " + table.saved().where);
    table.ForEach(&progress, [&](RowClass c, const uint32_t* record) {
      if (!selection.Has(c, record)) return;
      out->Add(UnsaltedKey(table.KeyOf(record), selection.salt), c, record);
      ++count;
    });
  }
  out->Finish();
  fmt::print("{} of commit {} in {}{}\n", CountText(count, "row"), table.saved().commit, path,
             format == Format::kNpy ? ", keys in " + KeysPathOf(path) : "");
}

void ExportRows(Session& session, const ExportCommand& command, const TableRows& table,
                const std::string& path) {
  const SavedTable& saved = table.saved();
  if (table.serving()) Fail("{}: it is an export for serving already", saved.where);
  if (!saved.files.front()->head().full) {
    Fail("{}: changes by themselves are no table; name the state directory", saved.where);
  }
  ServingOptions options;
  options.store = StoreNamed(command.store, table.config().store);
  options.min_score = command.min_score;
  options.now = saved.event_time;
  OutputFile out(session.fs, path, OutputFile::WrittenByOthers{});
  Outside([&] { session.fs.OpenWrite(out.temporary_path())->Close(); });  // so that it can be
  // What lies between: a whole table where rows are on disk, or changes as they are kept.
  const OutputFile scratch(session.fs, path + ".all", OutputFile::WrittenByOthers{});
  Progress progress("Exporting " + saved.where);
  if (command.since) {
    const std::string& to = command.training ? out.temporary_path() : scratch.temporary_path();
    if (!table.WriteChangesSince(session.fs, *command.since, to)) {
      fmt::print("nothing has changed since commit {}; no file was written\n", *command.since);
      return;
    }
    if (!command.training) {
      const RowFileRef changes[] = {RowFile::Open(session.fs, to)};
      ExportServingChanges(session.fs, out.temporary_path(), changes, options);
    }
  } else {
    const auto chain = table.MakeChain(session.fs, scratch.temporary_path());
    if (command.training) {
      CompactChain(session.fs, out.temporary_path(), *chain);
    } else {
      ExportServing(session.fs, out.temporary_path(), *chain, options);
    }
  }
  const RowFileRef written = RowFile::Open(session.fs, out.temporary_path());
  out.Keep();
  const int64_t rows = written->num_rows(RowClass::kNarrow) + written->num_rows(RowClass::kFull);
  fmt::print("{}{} of commit {} in {} ({}, {})\n", CountText(rows, "row"),
             written->head().full
                 ? ""
                 : fmt::format(" changed and {} deleted since commit {}, as",
                               WithCommas(written->num_deleted()), written->head().since),
             written->head().commit, path, StoreName(written->head().store()),
             BytesText(written->mark().size));
}

ExitCode Export(Session& session, const ExportCommand& command) {
  std::vector<std::string> rest;
  const TableArgument argument = TakeTableArgument(command.words, &rest);
  if (rest.size() != 1) throw CommandError(kUsage, "wanted DIR @TABLE OUT");
  const Format format = FormatOf(rest[0]);
  CheckOptions(command, format);
  const TableRows table(OpenTable(session, argument, command.commit));
  if (format == Format::kRows) {
    ExportRows(session, command, table, rest[0]);
  } else {
    ExportForOthers(session, command, table, format, rest[0]);
  }
  return kOk;
}

}  // namespace

void AddTableExport(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("export", "Rows to a CSV, .npy or row file");
  const auto command = std::make_shared<ExportCommand>();
  sub->add_option("DIR|FILE", command->words,
                  "state directory and @TABLE, or a row file; then OUT.csv, OUT.npy or OUT.rows")
      ->required()
      ->type_name("[@TABLE] OUT");
  sub->add_option("--store", command->store,
                  "OUT.rows: how numbers are kept: f32, bf16 or int8 (as in the table)")
      ->check(CLI::IsMember(std::set<std::string>{"f32", "bf16", "int8"}));
  sub->add_option("--min-score", command->min_score, "leave out rows with a lower score");
  sub->add_option("--since", command->since,
                  "OUT.rows: only what has changed since this commit, deletions included");
  sub->add_flag("--training", command->training,
                "OUT.rows: with optimizer slots and metadata, not for serving alone");
  sub->add_flag("--metadata", command->metadata,
                "OUT.csv: also feature, shows, clicks, last_seen, updates and score");
  sub->add_option("--feature", command->feature,
                  "OUT.csv, OUT.npy: rows of this feature alone, with its ids in place of keys");
  sub->add_option("--commit", command->commit, "an older commit that is kept (the newest)");
  sub->footer(
      "\nOUT.csv has a line a row: key, e0, e1, …. OUT.npy has the numbers, f32[N, W], and\n"
      "OUT.keys.npy the keys, u64[N]. OUT.rows is for serving: it holds keys and numbers, is "
      "mapped\n"
      "and opens in no time. Rows come in the table's own order, which is that of hashed keys. "
      "Keys\n"
      "that are counted and not admitted are left out. OUT is written whole or not at all.\n"
      "\nWith --since OUT.rows is put over an export of that commit (or a later one). If changes\n"
      "since then are not kept any more, or the commit never was, the command says so and fails:\n"
      "the reader has to take a full export.\n"
      "\nExamples:\n"
      "  catamaran table export model @feat feat.csv --metadata\n"
      "  catamaran table export model @feat user.npy --feature user\n"
      "  catamaran table export model @feat feat.rows --store int8 --min-score 1\n"
      "  catamaran table export model @feat feat-7.rows --since 6");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Export(session, *command); };
  });
}

}  // namespace catamaran::cli

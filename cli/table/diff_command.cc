// catamaran table diff A B [@TABLE], or DIR @TABLE --commits M N

#include <unistd.h>

#include <cmath>

#include "cli/output_file.h"
#include "cli/table/commands.h"
#include "cli/table/table_rows.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct DiffCommand {
  std::vector<std::string> words;
  std::vector<uint64_t> commits;
  bool keys = false, json = false;
};

struct Totals {
  int64_t added = 0, removed = 0;
  int64_t changed = 0;  // numbers of the embedding differ, or how many there are
  int64_t touched = 0;  // only slots or metadata do
  int64_t waiting = 0;  // of keys without a row in either
  double largest = 0;
  uint64_t largest_key = 0;
  int largest_column = 0;
  float largest_a = 0, largest_b = 0;

  bool any() const { return added + removed + changed + touched + waiting > 0; }
};

class Differ {
 public:
  Differ(const TableRows& a, const TableRows& b, bool keys)
      : a_(a),
        b_(b),
        keys_(keys),
        row_a_(static_cast<size_t>(a.config().width)),
        row_b_(static_cast<size_t>(b.config().width)) {}

  void Add(const RowDifference& d) {
    const bool has_a = d.a != nullptr && d.class_a != RowClass::kWaiting;
    const bool has_b = d.b != nullptr && d.class_b != RowClass::kWaiting;
    if (has_a && has_b) return Compare(d);
    if (!has_a && !has_b) {
      ++totals_.waiting;
      Tell('~', d.key, "waiting");
    } else if (has_b) {
      ++totals_.added;
      Tell('+', d.key, "");
    } else {
      ++totals_.removed;
      Tell('-', d.key, "");
    }
  }

  const Totals& totals() const { return totals_; }
  Json& keys_json() { return json_; }
  void CollectJson() { collect_ = true; }

 private:
  void Compare(const RowDifference& d) {
    a_.Read(d.class_a, d.a, row_a_.data());
    b_.Read(d.class_b, d.b, row_b_.data());
    double most = 0;
    bool differs = d.class_a != d.class_b;
    for (size_t i = 0; i < row_a_.size(); ++i) {
      if (row_a_[i] == row_b_[i]) continue;
      differs = true;
      double change = std::abs(static_cast<double>(row_a_[i]) - static_cast<double>(row_b_[i]));
      if (std::isnan(change)) change = HUGE_VAL;
      most = std::max(most, change);
      if (change <= totals_.largest) continue;
      totals_.largest = change;
      totals_.largest_key = d.key;
      totals_.largest_column = static_cast<int>(i);
      totals_.largest_a = row_a_[i];
      totals_.largest_b = row_b_[i];
    }
    ++(differs ? totals_.changed : totals_.touched);
    Tell('~', d.key, differs ? fmt::format("{:.6g}", most) : "slots or metadata");
  }

  void Tell(char sign, uint64_t key, const std::string& how) {
    if (!keys_) return;
    if (collect_) {
      json_.push_back({{"key", key}, {"change", std::string(1, sign)}, {"by", how}});
    } else {
      fmt::print("{} {}{}{}\n", sign, key, how.empty() ? "" : "  ", how);
    }
  }

  const TableRows& a_;
  const TableRows& b_;
  const bool keys_;
  bool collect_ = false;
  std::vector<float> row_a_, row_b_;
  Totals totals_;
  Json json_ = Json::array();
};

struct Sides {
  SavedTable a, b;
};

Sides OpenSides(const Session& session, const DiffCommand& command) {
  if (!command.commits.empty()) {
    const TableArgument argument = TakeTableArgument(command.words);
    return {OpenTable(session, argument, command.commits[0]),
            OpenTable(session, argument, command.commits[1])};
  }
  std::vector<std::string> words = command.words;
  std::string table;
  if (!words.empty() && words.back().starts_with('@')) {
    table = words.back().substr(1);
    words.pop_back();
  }
  if (words.size() != 2 || words[0].starts_with('@') || words[1].starts_with('@')) {
    throw CommandError(kUsage, "wanted A B @TABLE, or DIR @TABLE --commits M N");
  }
  const auto open = [&](const std::string& path) {
    // A table of a directory may be compared with a file.
    const bool directory = session.fs.IsDirectory(path);
    return OpenTable(session, {path, directory ? table : ""});
  };
  return {open(words[0]), open(words[1])};
}

std::string NameOf(const SavedTable& saved) {
  return fmt::format("{}, commit {}{}", saved.where, saved.commit,
                     saved.step < 0 ? "" : fmt::format(" (step {})", WithCommas(saved.step)));
}

void Print(const Session& session, const TableRows& a, const TableRows& b, const Totals& totals) {
  fmt::print("{} {}\n{} {}\n", session.out.Bold("-"), NameOf(a.saved()), session.out.Bold("+"),
             NameOf(b.saved()));
  if (!totals.any()) {
    fmt::print("no difference\n");
    return;
  }
  const auto line = [](const char* name, int64_t count, const std::string& more) {
    if (count > 0) fmt::print("  {:<9}{}{}\n", name, WithCommas(count), more);
  };
  line("added", totals.added, "");
  line("removed", totals.removed, "");
  line("changed", totals.changed,
       fmt::format(", by at most {:.6g}: key {}, column {}, {} to {}", totals.largest,
                   totals.largest_key, totals.largest_column, totals.largest_a, totals.largest_b));
  line("touched", totals.touched, ": slots or metadata alone");
  line("waiting", totals.waiting, ": keys that are counted and not admitted");
}

Json TotalsJson(const Totals& totals) {
  Json json;
  json["added"] = totals.added;
  json["removed"] = totals.removed;
  json["changed"] = totals.changed;
  json["touched"] = totals.touched;
  json["waiting"] = totals.waiting;
  if (totals.changed > 0) {
    json["largest"] = {{"change", NumberJson(totals.largest)},
                       {"key", totals.largest_key},
                       {"column", totals.largest_column},
                       {"from", NumberJson(static_cast<double>(totals.largest_a))},
                       {"to", NumberJson(static_cast<double>(totals.largest_b))}};
  }
  return json;
}

ExitCode Diff(Session& session, const DiffCommand& command) {
  Sides sides = OpenSides(session, command);
  const TableRows a(std::move(sides.a)), b(std::move(sides.b));
  for (const TableRows* table : {&a, &b}) {
    if (table->serving() || !table->saved().files.front()->head().full) {
      Fail("{}: wanted a whole table, with slots and metadata, to compare", table->saved().where);
    }
  }
  // Rows on disk are brought into files first.
  const char* temporary = std::getenv("TMPDIR");
  const std::string scratch = JoinPath(temporary == nullptr ? "/tmp" : temporary,
                                       fmt::format("catamaran-diff-{}", getpid()));
  const OutputFile remove_a(session.fs, scratch + "-a", OutputFile::WrittenByOthers{});
  const OutputFile remove_b(session.fs, scratch + "-b", OutputFile::WrittenByOthers{});
  const auto chain_a = a.MakeChain(session.fs, remove_a.temporary_path());
  const auto chain_b = b.MakeChain(session.fs, remove_b.temporary_path());
  Differ differ(a, b, command.keys);
  if (command.json) differ.CollectJson();
  {
    Progress progress("Comparing");
    DiffChains(*chain_a, *chain_b, [&](const RowDifference& difference) {
      differ.Add(difference);
      // Differences come by ascending hash, which is even.
      progress.Show(std::ldexp(static_cast<double>(a.config().Hash(difference.key)), -64));
    });
  }
  if (command.json) {
    Json json = TotalsJson(differ.totals());
    if (command.keys) json["keys"] = std::move(differ.keys_json());
    fmt::print("{}\n", json.dump(2));
  } else {
    Print(session, a, b, differ.totals());
  }
  return differ.totals().any() ? kWrong : kOk;
}

}  // namespace

void AddTableDiff(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("diff", "What is different between two saved tables");
  const auto command = std::make_shared<DiffCommand>();
  sub->add_option("A B", command->words, "two state directories (or row files), then @TABLE")
      ->required()
      ->type_name("[@TABLE]");
  sub->add_option("--commits", command->commits, "M N: two commits of one directory, DIR @TABLE")
      ->expected(2);
  sub->add_flag("--keys", command->keys, "list the keys: + added, - removed, ~ changed");
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer(
      "\nRows are added, removed, changed (their numbers differ; the largest change is shown) or\n"
      "touched (slots or metadata differ, the numbers do not). Tables can be compared if they "
      "have\n"
      "the same width, store, optimizer and seed.\n"
      "\nExit code: 0 no difference; 1 there is one; 2 or 3 they could not be compared.\n"
      "\nExamples:\n"
      "  catamaran table diff model @feat --commits 6 7 --keys\n"
      "  catamaran table diff model yesterday/model @feat");
  sub->callback([&session, command] {
    session.action = [&session, command] {
      try {
        return Diff(session, *command);
      } catch (const CommandError&) {
        throw;
      } catch (const Error& error) {
        throw CommandError(kEnvironment, error.what());  // 1 would say that they differ
      }
    };
  });
}

}  // namespace catamaran::cli

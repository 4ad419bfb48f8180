#include "catamaran/table/files/row_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "catamaran/table/cold_rows.h"
#include "catamaran/table/files/row_file_test_util.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

// A table that commits into files, and remembers what it was at each commit.
class History {
 public:
  explicit History(uint64_t seed, bool with_totals = true, uint64_t keys = 300)
      : table(RowTestConfig(), seed), with_totals_(with_totals), keys_(keys) {}

  void Commit(int64_t changes) {
    table.ChangeAtRandom(changes, keys_);
    const int64_t commit = static_cast<int64_t>(states.size()) + 1;
    table.extras["commit"] = std::to_string(commit);
    PlainTable::Cut cut = table.TakeCut(commit == 1, with_totals_);
    const std::string path = "c" + std::to_string(commit);
    WriteCut(fs, path, HeadOf(table.config(), commit - 1, commit), cut);
    files.push_back(RowFile::Open(fs, path));
    states.push_back(table.rows());
  }
  RowFileRef Open(const std::string& path) { return RowFile::Open(fs, path); }
  // The state at a commit.
  const PlainRows& At(int64_t commit) const { return states[static_cast<size_t>(commit - 1)]; }
  // Files of commits (from, to].
  std::vector<RowFileRef> Changes(int64_t from, int64_t to) const {
    return {files.begin() + from, files.begin() + to};
  }

  FaultyFileSystem fs;
  PlainTable table;
  std::vector<RowFileRef> files;
  std::vector<PlainRows> states;

 private:
  const bool with_totals_;
  const uint64_t keys_;
};

std::array<int64_t, kRowClasses> Count(const PlainRows& rows) {
  std::array<int64_t, kRowClasses> count{};
  for (const auto& [hash, row] : rows) ++count[static_cast<size_t>(row.first)];
  return count;
}

void ExpectIs(const RowChain& chain, const PlainRows& rows, uint64_t keys = 300) {
  EXPECT_EQ(RowsOf(chain), rows);
  const RowLayout layout(chain.config());
  for (uint64_t key = 0; key < keys * 0x10001; key += 0x10001) {
    RowClass c{};
    const uint32_t* record = chain.Find(key, &c);
    const auto row = rows.find(chain.config().Hash(key));
    ASSERT_EQ(record != nullptr, row != rows.end()) << key;
    if (record == nullptr) continue;
    EXPECT_EQ(c, row->second.first);
    EXPECT_EQ(CopyRecord(layout, c, record), row->second.second);
  }
  for (size_t c = 0; c < kRowClasses; ++c) {
    EXPECT_EQ(chain.num_rows(RowClass(c)), Count(rows)[c]) << c;
  }
}

TEST(RowChain, IsTheTableAtItsLastCommit) {
  for (const bool with_totals : {true, false}) {
    History history(1, with_totals);
    for (int i = 0; i < 8; ++i) {
      history.Commit(i == 0 ? 400 : 40);
      const RowChain chain(history.files);
      ExpectIs(chain, history.table.rows());
      EXPECT_EQ(chain.commit(), i + 1);
      EXPECT_EQ(chain.extras().at("commit"), std::to_string(i + 1));
      chain.Verify();
    }
  }
}

TEST(RowChain, ScansOfRangesTogetherAreAScanOfAll) {
  History history(2);
  for (int i = 0; i < 5; ++i) history.Commit(200);
  const RowChain chain(history.files);
  PlainRows all;
  constexpr int kParts = 37;
  const uint64_t part = UINT64_MAX / kParts;
  for (uint64_t i = 0; i < kParts; ++i) {
    const uint64_t last = i + 1 == kParts ? UINT64_MAX : (i + 1) * part - 1;
    for (const auto& row : RowsOf(chain, i * part, last)) EXPECT_TRUE(all.insert(row).second);
  }
  EXPECT_EQ(all, history.table.rows());
}

TEST(RowChain, CompactedIsTheSameTableInOneFile) {
  History history(3, false);
  for (int i = 0; i < 6; ++i) history.Commit(150);
  const RowChain chain(history.files);
  const RowFileMark mark = CompactChain(history.fs, "full", chain);
  const auto file = RowFile::Open(history.fs, "full", {.verify_all = true, .expected = mark});
  file->Verify();
  EXPECT_TRUE(file->head().full);
  EXPECT_EQ(file->num_deleted(), 0);
  const RowChain compacted({file});
  ExpectIs(compacted, history.table.rows());
  EXPECT_EQ(compacted.commit(), 6);
  EXPECT_EQ(compacted.extras(), chain.extras());
  // What was not told and had to be counted is the same as what a cut would have said.
  PlainTable::Cut cut = history.table.TakeCut(true);
  WriteCut(history.fs, "again", HeadOf(history.table.config(), 0, 6), cut);
  EXPECT_EQ(history.fs.ReadAll("again"), history.fs.ReadAll("full"));
}

TEST(RowChain, BaseAndIncrementsAreTheFullTableInAnyBatching) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    History history(seed, seed % 2 == 0);
    const int64_t commits = 8;
    for (int64_t i = 0; i < commits; ++i) {
      history.Commit(static_cast<int64_t>(history.table.random()() % 120));
    }
    // From a full file at some commit, through increments of several commits each.
    std::mt19937_64 random(seed);
    int64_t at = 1 + static_cast<int64_t>(random() % 3);
    CompactChain(history.fs, "base", RowChain(history.Changes(0, at)));
    std::vector<RowFileRef> files = {history.Open("base")};
    while (at < commits) {
      const int64_t to =
          at + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(commits - at));
      const std::string path = "i" + std::to_string(to);
      // Sometimes it begins earlier than it must.
      const int64_t from = random() % 3 == 0 ? std::max<int64_t>(1, at - 1) : at;
      MergeChanges(history.fs, path, history.Changes(from, to));
      files.push_back(history.Open(path));
      files.back()->Verify();
      EXPECT_EQ(files.back()->head().since, from);
      EXPECT_EQ(files.back()->head().commit, to);
      at = to;
      ExpectIs(RowChain(files), history.At(at));
    }
    // Merging increments of increments changes nothing either.
    if (files.size() > 2) {
      MergeChanges(history.fs, "all", std::span(files).subspan(1));
      ExpectIs(RowChain({files[0], history.Open("all")}), history.At(at));
    }
  }
}

TEST(RowChain, AnIncrementBringsAReaderFromAnyKeptCommitToTheNewest) {
  History history(4);
  const int64_t commits = 9;
  for (int64_t i = 0; i < commits; ++i) history.Commit(60);
  // Kept: a full file of commit 6, and changes from 3 on, some of them merged.
  CompactChain(history.fs, "full", RowChain(history.Changes(0, 6)));
  MergeChanges(history.fs, "3to5", history.Changes(3, 5));
  MergeChanges(history.fs, "7to9", history.Changes(7, 9));
  const std::vector<RowFileRef> kept = {history.Open("7to9"), history.Open("full"),
                                        history.Open("3to5"), history.files[5], history.files[6]};
  for (int64_t since = 1; since <= commits; ++since) {
    std::string why;
    RowFileMark mark;
    const bool written = WriteIncrement(history.fs, "increment", kept, since, &why, &mark);
    if (since < 3) {
      EXPECT_FALSE(written);
      EXPECT_EQ(why, "a reader at commit " + std::to_string(since) +
                         " needs the changes since commit " + std::to_string(since) +
                         ", which are not kept any more");
      continue;
    }
    ASSERT_TRUE(written) << since;
    const auto increment =
        RowFile::Open(history.fs, "increment", {.verify_all = true, .expected = mark});
    increment->Verify();
    EXPECT_EQ(increment->head().since, since);
    EXPECT_EQ(increment->head().commit, commits);
    CompactChain(history.fs, "reader", RowChain(history.Changes(0, since)));
    ExpectIs(RowChain({history.Open("reader"), increment}), history.table.rows());
    if (since == commits) {
      EXPECT_EQ(increment->num_rows(RowClass::kFull) + increment->num_deleted(), 0);
      EXPECT_EQ(increment->extras().at("commit"), "9");
    }
  }
  std::string why;
  RowFileMark mark;
  EXPECT_FALSE(WriteIncrement(history.fs, "increment", kept, 10, &why, &mark));
  EXPECT_EQ(why, "a reader at commit 10 is ahead of the newest commit, 9");
  EXPECT_TRUE(PlanIncrement({}, 0).resync);
}

// Rows of another table's chain in the place of a store of cold rows.
class ColdChain final : public SavedColdRows {
 public:
  explicit ColdChain(RowFileRef file) : chain_({std::move(file)}) {}
  bool Find(uint64_t key, RowClass* c, std::vector<uint32_t>* record) const override {
    const uint32_t* found = chain_.Find(key, c);
    if (found == nullptr) return false;
    record->assign(found, found + RowLayout(chain_.config()).of(*c).words);
    return true;
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit) const override {
    chain_.Scan(first, last, visit);
  }
  int64_t approximate_rows() const override { return 10; }  // about
  int64_t bytes_on_disk() const override { return 0; }

 private:
  const RowChain chain_;
};

TEST(RowChain, AnIncrementHoldsRowsThatWentFromTheFilesToAColdStore) {
  History history(8);
  for (int i = 0; i < 3; ++i) history.Commit(300);
  // Every second key that the changes have deleted is in a cold store.
  PlainTable cold(history.table.config(), 99);
  int64_t deleted = 0;
  for (const RowFileRef& file : history.Changes(1, 3)) {
    file->ScanDeleted(0, UINT64_MAX, [&](uint64_t key) {
      if (++deleted % 2 == 0) cold.Put(RowClass(key % kRowClasses), key);
    });
  }
  PlainTable::Cut cut = cold.TakeCut(true);
  WriteCut(history.fs, "cold", HeadOf(cold.config(), 0, 3), cut);
  const ColdChain cold_rows(history.Open("cold"));
  std::string why;
  RowFileMark mark;
  ASSERT_TRUE(WriteIncrement(history.fs, "i", history.files, 1, &why, &mark, &cold_rows));
  const auto increment = history.Open("i");
  increment->Verify();
  PlainRows wanted = history.table.rows();
  int64_t from_cold = 0;
  for (const auto& row : cold.rows()) from_cold += wanted.insert(row).second;
  EXPECT_GT(from_cold, 10);
  // Cold rows that have not changed were with the reader before: here there are none of those.
  EXPECT_EQ(RowsOf(RowChain({history.files[0], increment})), wanted);
  CompactChain(history.fs, "all", RowChain(history.files), &cold_rows);
  history.Open("all")->Verify();
  EXPECT_EQ(RowsOf(RowChain({history.Open("all")})), wanted);
}

TEST(RowChain, AGapInWhatIsKeptIsAResync) {
  History history(5);
  for (int i = 0; i < 6; ++i) history.Commit(30);
  const std::vector<RowFileRef> kept = {history.files[1], history.files[2], history.files[4],
                                        history.files[5]};
  EXPECT_TRUE(PlanIncrement(kept, 1).resync);
  EXPECT_TRUE(PlanIncrement(kept, 3).resync);
  EXPECT_FALSE(PlanIncrement(kept, 4).resync);
  EXPECT_EQ(PlanIncrement(kept, 4).changes.size(), 2u);
  EXPECT_TRUE(PlanIncrement(kept, 6).changes.empty());
}

TEST(RowChain, FilesThatDoNotFitTogetherAreRefused) {
  History history(6);
  for (int i = 0; i < 4; ++i) history.Commit(30);
  const auto& files = history.files;
  EXPECT_THAT(ErrorOf([] { RowChain({}); }), HasSubstr("at least one file"));
  EXPECT_THAT(ErrorOf([&] { RowChain({files[1]}); }), HasSubstr("c2 has only the changes"));
  EXPECT_THAT(ErrorOf([&] {
                RowChain({files[0], files[2]});
              }),
              HasSubstr("c3 has the changes of commits 2 to 3, and cannot be put over c1, which is "
                        "at commit 1"));
  EXPECT_THAT(ErrorOf([&] {
                RowChain({files[0], files[1], files[2], files[1]});
              }),
              HasSubstr("cannot be put over"));
  EXPECT_THAT(ErrorOf([&] { RowChain({files[0], files[0]}); }), HasSubstr("full file"));
  PlainTable wider(RowTestConfig(4));
  PlainTable::Cut cut = wider.TakeCut(false);
  WriteCut(history.fs, "wider", HeadOf(wider.config(), 1, 2), cut);
  EXPECT_EQ(ErrorOf([&] {
              RowChain({files[0], history.Open("wider")});
            }),
            "c1 and wider are of different tables: width 3 and 4");
  EXPECT_THAT(ErrorOf([&] { MergeChanges(history.fs, "x", std::span(files).first(2)); }),
              HasSubstr("full file"));
  EXPECT_THAT(ErrorOf([&] { MergeChanges(history.fs, "x", {}); }), HasSubstr("no changes"));
}

TEST(RowChain, DiffFindsExactlyWhatIsDifferent) {
  History history(7);
  for (int i = 0; i < 5; ++i) history.Commit(80);
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{1, 5}, {4, 2}, {3, 3}}) {
    const PlainRows &a = history.At(from), &b = history.At(to);
    std::vector<uint64_t> wanted;
    PlainRows both = a;
    both.insert(b.begin(), b.end());
    for (const auto& [hash, row] : both) {
      const auto in_a = a.find(hash), in_b = b.find(hash);
      const bool same = in_a != a.end() && in_b != b.end() && in_a->second == in_b->second;
      if (!same) wanted.push_back(RecordKey(row.second.data()));
    }
    std::vector<uint64_t> found;
    const RowChain chain_a(history.Changes(0, from)), chain_b(history.Changes(0, to));
    DiffChains(chain_a, chain_b, [&](const RowDifference& difference) {
      found.push_back(difference.key);
      const uint64_t hash = history.table.config().Hash(difference.key);
      EXPECT_EQ(difference.a != nullptr, a.contains(hash));
      EXPECT_EQ(difference.b != nullptr, b.contains(hash));
      if (difference.b != nullptr) {
        EXPECT_EQ(difference.class_b, b.at(hash).first);
      }
    });
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(from == to, wanted.empty());
  }
}

TEST(RowChain, ADamagedRowIsFoundWhenItIsReadAndNamesItsFile) {
  PlainTable table(RowTestConfig(16));
  for (uint64_t key = 0; key < 5000; ++key) table.Put(RowClass::kFull, key);
  FaultyFileSystem fs;
  PlainTable::Cut cut = table.TakeCut(true);
  WriteCut(fs, "rows", HeadOf(table.config(), 0, 1), cut);
  fs.FlipBit("rows", 8 * 300'000);
  const RowChain chain({RowFile::Open(fs, "rows")});
  int64_t good = 0, bad = 0;
  for (uint64_t key = 0; key < 5000; ++key) {
    RowClass c;
    const std::string error = ErrorOf([&] { chain.Find(key, &c); });
    (error == "no error" ? good : bad) += 1;
    if (error != "no error") {
      EXPECT_THAT(error, HasSubstr("rows is damaged: bytes 262144 to"));
    }
  }
  EXPECT_GT(good, 4000);
  EXPECT_GT(bad, 300);
  EXPECT_THAT(ErrorOf([&] { RowsOf(chain); }), HasSubstr("rows is damaged"));
  EXPECT_THAT(ErrorOf([&] { CompactChain(fs, "new", chain); }), HasSubstr("rows is damaged"));
}

// A table of `full` bytes whose commits write `changes` bytes each, compacted as planned.
struct Simulated {
  size_t longest = 0;
  double most_bytes = 0;     // of a chain, in full files
  double amplification = 0;  // bytes written in all, a byte of changes
};
Simulated Simulate(uint64_t full, uint64_t changes, int commits) {
  Simulated result;
  std::vector<uint64_t> sizes = {full};
  uint64_t written = 0;
  for (int i = 0; i < commits; ++i) {
    sizes.push_back(changes);
    written += changes;
    const CompactionPlan plan = PlanCompaction(sizes);
    if (plan.first < plan.last) {
      const auto first = sizes.begin() + static_cast<long>(plan.first);
      const auto last = sizes.begin() + static_cast<long>(plan.last);
      const uint64_t merged = plan.first == 0 ? full : std::accumulate(first, last, uint64_t{0});
      *first = merged;
      sizes.erase(first + 1, last);
      written += merged;
    }
    result.longest = std::max(result.longest, sizes.size());
    const double bytes =
        static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}));
    result.most_bytes = std::max(result.most_bytes, bytes / static_cast<double>(full));
  }
  result.amplification = static_cast<double>(written) / (static_cast<double>(changes) * commits);
  return result;
}

TEST(RowChain, CompactionKeepsChainsShortSmallAndCheap) {
  for (const uint64_t changes : {1u, 10u, 100u, 1'000u, 10'000u, 100'000u, 900'000u}) {
    const Simulated result = Simulate(1'000'000, changes, 20'000);
    SCOPED_TRACE(changes);
    EXPECT_LE(result.longest, kMaxChainFiles);
    EXPECT_LE(result.most_bytes, 1.5);
    EXPECT_LE(result.amplification, changes < 10'000 ? 30 : 8);
  }
  EXPECT_EQ(PlanCompaction({}).last, 0u);
  EXPECT_EQ(PlanCompaction(std::vector<uint64_t>{5}).last, 0u);
}

}  // namespace
}  // namespace catamaran

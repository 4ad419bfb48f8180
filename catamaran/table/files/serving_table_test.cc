#include "catamaran/table/files/serving_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/table/files/row_file_test_util.h"
#include "catamaran/table/row_rules.h"
#include "catamaran/table/shared_row.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

std::vector<float> PullAll(const Table& table, std::span<const uint64_t> keys) {
  std::vector<float> out(keys.size() * static_cast<size_t>(table.width()), -99);
  std::exception_ptr failed;
  table.Pull(keys, out,
             {[](void* context, std::exception_ptr error) {
                *static_cast<std::exception_ptr*>(context) = std::move(error);
              },
              &failed});
  if (failed) std::rethrow_exception(failed);
  return out;
}

// Keys of PlainTable::ChangeAtRandom.
std::vector<uint64_t> KeysUpTo(uint64_t n) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < n; ++i) keys.push_back(i * 0x10001);
  return keys;
}

// A table with ordinary numbers, and its chain of files.
struct Trained {
  explicit Trained(TableConfig config, uint64_t keys = 500) : table(std::move(config), 9) {
    for (const uint64_t key : KeysUpTo(keys)) PutAtRandom(key);
    Commit();
  }
  void PutAtRandom(uint64_t key) {
    const RowClass c = RowClass(table.random()() % kRowClasses);
    table.PutRecord(c, ReasonableRecord(table.random(), table.layout(), c, key));
    if (c == RowClass::kWaiting) return;
    // Numbers in the store's own way.
    const RowRules rules(table.config());
    Record& record = const_cast<Record&>(table.rows().at(table.config().Hash(key)).second);
    std::vector<float> values(static_cast<size_t>(table.config().width));
    std::uniform_real_distribution<float> number(-1, 1);
    for (float& x : values) x = number(table.random());
    const RowLayout::Class& row = table.layout().of(c);
    rules.codec().Encode(values.data(), row.columns, key, 1, record.data() + row.embedding);
  }
  void Commit() {
    ++commit;
    PlainTable::Cut cut = table.TakeCut(commit == 1);
    const std::string path = "c" + std::to_string(commit);
    WriteCut(fs, path, HeadOf(table.config(), commit - 1, commit), cut);
    files.push_back(RowFile::Open(fs, path));
  }
  RowChain chain() const { return RowChain(files); }
  // What a program should see of a key.
  std::vector<float> Wanted(uint64_t key, const ServingOptions& options) const {
    const RowRules rules(table.config());
    std::vector<float> out(static_cast<size_t>(table.config().width));
    const auto row = table.rows().find(table.config().Hash(key));
    if (row == table.rows().end() || row->second.first == RowClass::kWaiting ||
        (options.min_score && rules.Score(row->second.second.data(), LastSeenSeconds(options.now)) <
                                  *options.min_score)) {
      rules.ReadInitial(key, out.data());
    } else {
      rules.Read(row->second.first, row->second.second.data(), out.data());
    }
    return out;
  }

  FaultyFileSystem fs;
  PlainTable table;
  std::vector<RowFileRef> files;
  int64_t commit = 0;
};

TableConfig ServingConfig(RowStore store) {
  TableConfig config = RowTestConfig(5, store);
  config.init = {TableInit::Kind::kUniform, -1, 1};
  config.score.half_life = 1'000'000 * kNanosecondsPerSecond;
  return config;
}

TEST(ServingTable, AnswersAsTheTableDidInEveryStore) {
  const std::vector<uint64_t> keys = KeysUpTo(600);
  for (const RowStore from : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
    Trained trained(ServingConfig(from));
    for (const RowStore to : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
      ServingOptions options;
      options.store = to;
      const RowFileMark mark = ExportServing(trained.fs, "serving", trained.chain(), options);
      const auto file =
          RowFile::Open(trained.fs, "serving", {.verify_all = true, .expected = mark});
      file->Verify();
      const ServingTable serving({file});
      const std::vector<float> found = PullAll(serving, keys);
      // To the nearest: half a step of the store.
      const double step = to == from || to == RowStore::kF32 ? 0
                          : to == RowStore::kBf16            ? 1.0 / 256
                                                             : 0.5 / 127;
      int exact = 0;
      for (size_t i = 0; i < keys.size(); ++i) {
        const std::vector<float> wanted = trained.Wanted(keys[i], options);
        for (size_t k = 0; k < 5; ++k) {
          EXPECT_NEAR(found[i * 5 + k], wanted[k], step * 1.0001) << keys[i];
          exact += found[i * 5 + k] == wanted[k];
        }
      }
      EXPECT_GT(exact, 1000);  // keys without a row read as they did
      EXPECT_EQ(serving.size(), trained.files[0]->num_rows(RowClass::kNarrow) +
                                    trained.files[0]->num_rows(RowClass::kFull));
      EXPECT_EQ(serving.commit(), 1);
    }
  }
}

TEST(ServingTable, RowsUnderTheScoreAreLeftOut) {
  Trained trained(ServingConfig(RowStore::kF32));
  ServingOptions options;
  options.min_score = 4;
  options.now = 1'500'000 * kNanosecondsPerSecond;
  ExportServing(trained.fs, "serving", trained.chain(), options);
  const ServingTable serving({RowFile::Open(trained.fs, "serving")});
  const int64_t all =
      trained.files[0]->num_rows(RowClass::kNarrow) + trained.files[0]->num_rows(RowClass::kFull);
  EXPECT_GT(serving.size(), all / 10);
  EXPECT_LT(serving.size(), all * 9 / 10);
  const std::vector<uint64_t> keys = KeysUpTo(500);
  const std::vector<float> found = PullAll(serving, keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::vector<float> wanted = trained.Wanted(keys[i], options);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), found.begin() + static_cast<long>(i) * 5))
        << keys[i];
  }
}

TEST(ServingTable, IncrementsOverAnExportAreAnExportOfTheNewest) {
  for (const bool scored : {false, true}) {
    ServingOptions options;
    if (scored) options.min_score = 4;
    options.now = 1'500'000 * kNanosecondsPerSecond;
    Trained trained(ServingConfig(RowStore::kF32));
    ExportServing(trained.fs, "s1", trained.chain(), options);
    auto serving =
        std::make_unique<ServingTable>(std::vector<RowFileRef>{RowFile::Open(trained.fs, "s1")});
    const std::vector<uint64_t> keys = KeysUpTo(600);
    size_t sent = 1;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 60; ++i) {
        const uint64_t key = keys[trained.table.random()() % keys.size()];
        if (trained.table.random()() % 3 == 0) {
          trained.table.Delete(key);
        } else {
          trained.PutAtRandom(key);
        }
      }
      trained.Commit();
      if (round % 2 == 0) continue;  // two commits an increment
      const std::string path = "s" + std::to_string(round + 2);
      ExportServingChanges(trained.fs, path, std::span(trained.files).subspan(sent), options);
      sent = trained.files.size();
      const auto file = RowFile::Open(trained.fs, path);
      file->Verify();
      serving = serving->With(file);
      ExportServing(trained.fs, "full", trained.chain(), options);
      const ServingTable full({RowFile::Open(trained.fs, "full")});
      EXPECT_EQ(PullAll(*serving, keys), PullAll(full, keys));
      EXPECT_EQ(serving->size(), full.size());
      EXPECT_EQ(serving->commit(), full.commit());
      EXPECT_EQ(serving->Info().narrow_rows, full.Info().narrow_rows);
    }
    // Increments merge like the changes they are made of.
    std::vector<RowFileRef> increments;
    for (const char* path : {"s3", "s5", "s7"})
      increments.push_back(RowFile::Open(trained.fs, path));
    MergeChanges(trained.fs, "merged", increments);
    const ServingTable merged(
        {RowFile::Open(trained.fs, "s1"), RowFile::Open(trained.fs, "merged")});
    EXPECT_EQ(PullAll(merged, keys), PullAll(*serving, keys));
  }
}

TEST(ServingTable, KeysWithoutARowReadAsDeclared) {
  for (const Unadmitted unadmitted : {Unadmitted::kInit, Unadmitted::kZeros, Unadmitted::kShared}) {
    TableConfig config = ServingConfig(RowStore::kBf16);
    config.unadmitted = unadmitted;
    Trained trained(config, 0);
    SharedRow shared(config);
    std::vector<float> gradient(5, 0.25f);
    shared.Update(1, 1, gradient.data());
    trained.table.extras = {{"shared", shared.Save()}, {"sketch", std::string(100, 'x')}};
    PlainTable::Cut cut = trained.table.TakeCut(true);
    WriteCut(trained.fs, "full", HeadOf(config, 0, 2), cut);
    ExportServing(trained.fs, "s", RowChain({RowFile::Open(trained.fs, "full")}), {});
    const ServingTable serving({RowFile::Open(trained.fs, "s")});
    const std::vector<uint64_t> keys = {7};
    std::vector<float> wanted(5);
    if (unadmitted == Unadmitted::kInit) RowRules(config).ReadInitial(7, wanted.data());
    if (unadmitted == Unadmitted::kShared) shared.Read(wanted.data());
    EXPECT_EQ(PullAll(serving, keys), wanted);
    EXPECT_EQ(serving.size(), 0);
    EXPECT_FALSE(RowFile::Open(trained.fs, "s")->extras().contains("sketch"));
  }
}

TEST(ServingTable, OnlyAnswers) {
  Trained trained(ServingConfig(RowStore::kF32), 10);
  ExportServing(trained.fs, "s", trained.chain(), {});
  const auto file = RowFile::Open(trained.fs, "s");
  ServingTable serving({file});
  EXPECT_THAT(ErrorOf([&] { serving.Apply({}); }), HasSubstr("s is an export for serving"));
  EXPECT_THAT(ErrorOf([&] { serving.Expire(1); }), HasSubstr("s is an export for serving"));
  EXPECT_THAT(ErrorOf([&] { RowChain({file}); }), HasSubstr("s is an export for serving"));
  EXPECT_THAT(ErrorOf([&] { ServingTable({trained.files[0]}); }), HasSubstr("is no export"));
  EXPECT_THAT(ErrorOf([&] { ServingTable({}); }), HasSubstr("at least one file"));
  EXPECT_THAT(ErrorOf([&] { ServingTable({file, file}); }), HasSubstr("full file"));
}

TEST(ServingTable, ADamagedRowIsToldToWhoeverAsksForIt) {
  Trained trained(ServingConfig(RowStore::kF32), 20'000);
  ExportServing(trained.fs, "s", trained.chain(), {});
  trained.fs.FlipBit("s", 8 * 70'000);
  const ServingTable serving({RowFile::Open(trained.fs, "s")});
  EXPECT_THAT(ErrorOf([&] { PullAll(serving, KeysUpTo(20'000)); }),
              HasSubstr("s is damaged: bytes 65536 to"));
}

}  // namespace
}  // namespace catamaran

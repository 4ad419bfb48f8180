// The features files of models/, on the real data where the environment variable CATAMARAN_DATA
// names the folder that holds it; else these tests are skipped.

#include <cmath>
#include <cstdlib>

#include "catamaran/data/features/features_test_util.h"
#include "catamaran/data/features/fit.h"
#include "catamaran/data/features/fitted_file.h"
#include "catamaran/data/features/json_rows.h"

namespace catamaran {
namespace {

std::string InSource(const std::string& path) {
  const char* const folder = std::getenv("CATAMARAN_SOURCE_DIR");
  return JoinPath(folder != nullptr ? folder : ".", path);
}

// Fits a model's features to a file and transforms all of its rows.
struct Model {
  Features features;
  RowBlock rows;
};

Model FitModel(const std::string& path, const std::string& data, const std::string& side_folder) {
  const FileSystem& fs = PosixFileSystem();
  const Features unfitted =
      LoadFeatures(fs, InSource(path), {.folders = {side_folder}, .unfitted = true});
  const auto open = [&] { return OpenReader(fs, data, unfitted.ReaderSettings({})); };
  Model model{FitFeatures(unfitted, open), {}};
  const auto reader = open();
  const auto transform = model.features.Bind(reader->schema());
  model.rows.Begin(transform->schema());
  RowBlock raw, made;
  while (reader->Read(4096, raw)) {
    transform->Apply(raw, made);
    model.rows.AppendRows(made, 0, made.rows());
  }
  const std::string text = FittedText(model.features);
  const Features again = ParseFitted(fs, text, "again.fit", {});
  EXPECT_EQ(again.Bind(reader->schema())->hash(), transform->hash());
  return model;
}

double Sum(const RowBlock& rows, const std::string& column) {
  double sum = 0;
  for (const float value : rows[rows.schema().Find(column)].floats) sum += value;
  return sum;
}

bool AllFinite(const RowBlock& rows, const std::string& column) {
  for (const float value : rows[rows.schema().Find(column)].floats) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

#define DATA_OR_SKIP(data)                                                             \
  const char* const folder = std::getenv("CATAMARAN_DATA");                            \
  if (folder == nullptr || !PosixFileSystem().Exists(JoinPath(folder, data))) {        \
    GTEST_SKIP() << "no " << data << ": CATAMARAN_DATA names no folder that holds it"; \
  }
#define FIT_OR_SKIP(model, path, data) \
  DATA_OR_SKIP(data)                   \
  const Model model =                  \
      FitModel(path, JoinPath(folder, data), ParentDirectory(JoinPath(folder, data)))

TEST(ModelFeatures, Adult) {
  FIT_OR_SKIP(model, "models/adult/adult.features", "adult/adult.data");
  EXPECT_EQ(model.rows.rows(), 32'561);
  EXPECT_EQ(model.rows.schema().ToString(), "label: f32\ndense: f32[5]\ncat: i64[11]\n");
  EXPECT_EQ(Sum(model.rows, "label"), 7841);
  EXPECT_TRUE(AllFinite(model.rows, "dense"));
  EXPECT_NEAR(Sum(model.rows, "dense"), 0, 1);  // each is normalized
  // The first row as a service gets it.
  JsonRows json(model.features, {"dense", "cat"});
  RowBlock served;
  json.Transform(R"({"age": 39, "workclass": "State-gov", "education": "Bachelors",
                     "education_num": 13, "marital_status": "Never-married",
                     "occupation": "Adm-clerical", "relationship": "Not-in-family",
                     "race": "White", "sex": "Male", "capital_gain": 2174, "capital_loss": 0,
                     "hours_per_week": 40, "native_country": "United-States"})",
                 served);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(served[0].floats[i], model.rows[1].floats[i]);
  for (size_t i = 0; i < 11; ++i) EXPECT_EQ(served[1].ints[i], model.rows[2].ints[i]);
}

TEST(ModelFeatures, AdultTest) {
  FIT_OR_SKIP(model, "models/adult/adult.features", "adult/adult.test");
  EXPECT_EQ(model.rows.rows(), 16'281);
  EXPECT_EQ(Sum(model.rows, "label"), 3846);
}

TEST(ModelFeatures, Bank) {
  FIT_OR_SKIP(model, "models/bank/bank.features", "bank-marketing/bank-additional-full.csv");
  EXPECT_EQ(model.rows.rows(), 41'188);
  EXPECT_EQ(Sum(model.rows, "label"), 4640);
  EXPECT_TRUE(AllFinite(model.rows, "dense"));
}

TEST(ModelFeatures, MovieLens) {
  DATA_OR_SKIP("movielens-100k/u.data");
  // With one more column, as models/movielens/prepare has it: movies that were liked before.
  const std::string side = JoinPath(folder, "movielens-100k");
  std::string text = PosixFileSystem().ReadAll(JoinPath(side, "u.data"));
  for (size_t end = 0; (end = text.find('\n', end)) != std::string::npos; end += 9) {
    text.insert(end, "\t242 302");
  }
  const std::string data = JoinPath(::testing::TempDir(), "movielens.tsv");
  WriteFileAtomically(PosixFileSystem(), data, text);
  const Model model = FitModel("models/movielens/movielens.features", data, side);
  PosixFileSystem().Remove(data);
  EXPECT_EQ(model.rows.rows(), 100'000);
  EXPECT_EQ(Sum(model.rows, "label"), 55'375);
  EXPECT_TRUE(AllFinite(model.rows, "dense"));
  const auto& genres = model.rows[model.rows.schema().Find("genres")];
  EXPECT_EQ(genres.ids(0).size(), 1u);  // item 242, Kolya: a comedy
  const auto& history = model.rows[model.rows.schema().Find("history")];
  ASSERT_EQ(history.ids(0).size(), 2u);
  EXPECT_EQ(history.ids(0)[0], model.rows[model.rows.schema().Find("cat")].ints[1]);  // item 242
}

TEST(ModelFeatures, Flights) {
  FIT_OR_SKIP(model, "models/flights/flights.features", "nycflights13/flights_2013_sorted.csv.gz");
  EXPECT_EQ(model.rows.rows(), 336'776);
  EXPECT_EQ(Sum(model.rows, "label"), 77'630);
  EXPECT_EQ(Sum(model.rows, "weight"), 336'776 - 9430);
  EXPECT_TRUE(AllFinite(model.rows, "dense"));
}

TEST(ModelFeatures, Taxi) {
  FIT_OR_SKIP(model, "models/taxi/taxi.features",
              "nyc-taxi-stream/yellow_tripdata_1pct_2022-01_2023-06.csv.gz");
  EXPECT_EQ(model.rows.rows(), 590'887);
  EXPECT_TRUE(AllFinite(model.rows, "dense"));
  EXPECT_GT(Sum(model.rows, "label"), 100'000);
}

TEST(ModelFeatures, Criteo) {
  FIT_OR_SKIP(model, "models/criteo/criteo.features",
              "criteo-sample-10k/criteo_train_first10000.txt");
  EXPECT_EQ(model.rows.rows(), 10'000);
  EXPECT_EQ(model.rows.schema().ToString(), "label: f32\ndense: f32[13]\ncat: i64[26]\n");
  EXPECT_EQ(Sum(model.rows, "label"), 2182);
}

}  // namespace
}  // namespace catamaran

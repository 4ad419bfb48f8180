#include "catamaran/table/files/table_description.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// The names that files use for the values of an enumeration, in its order.
constexpr std::array<std::string_view, 3> kStores = {"f32", "bf16", "int8"};
constexpr std::array<std::string_view, 4> kInits = {"zeros", "constant", "uniform", "normal"};
constexpr std::array<std::string_view, 4> kAdmits = {"all", "count", "probability", "sketch"};
constexpr std::array<std::string_view, 3> kUnadmitted = {"init", "zeros", "shared"};

template <typename Enum, size_t N>
std::string_view NameOf(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<size_t>(value)];
}

// A name may hold anything: what would end a line, and the backslash, are written as \n and \\.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\\') {
      escaped += "\\\\";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      plain += text[i] == 'n' ? '\n' : text[i];
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// One line, taken apart from the left.
class Line {
 public:
  explicit Line(std::string_view line) : line_(line), rest_(line) {}

  std::string_view Word() {
    if (rest_.empty()) FailHere("it ends too soon");
    const size_t space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    rest_ = space == rest_.npos ? std::string_view() : rest_.substr(space + 1);
    return word;
  }

  template <typename T>
  T Number() {
    const std::string_view word = Word();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) {
      FailHere(fmt::format("{} is not a number that fits", word));
    }
    return value;
  }

  template <typename Enum, size_t N>
  Enum OneOf(const std::array<std::string_view, N>& names) {
    const std::string_view word = Word();
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == word) return static_cast<Enum>(i);
    }
    FailHere(fmt::format("{} is none of {}", word, fmt::join(names, ", ")));
  }

  std::string_view rest() const { return rest_; }

  [[noreturn]] void FailHere(const std::string& why) const {
    Fail(ErrorCode::kStorage, "the description of the table has the line \"{}\": {}", line_, why);
  }

 private:
  std::string_view line_, rest_;
};

void ReadOptimizer(Line& line, TableConfig& config) {
  config.optimizer = MakeOptimizer(line.Word());
  while (!line.rest().empty()) {
    const std::string_view name = line.Word();
    SetHyper(*config.optimizer, name, line.Number<double>());
  }
}

void ReadLine(Line line, TableConfig& config) {
  const std::string_view name = line.Word();
  if (name == "width") {
    config.width = line.Number<int64_t>();
  } else if (name == "store") {
    config.store = line.OneOf<RowStore>(kStores);
  } else if (name == "seed") {
    config.seed = line.Number<uint64_t>();
  } else if (name == "init") {
    config.init.kind = line.OneOf<TableInit::Kind>(kInits);
    config.init.a = line.Number<double>();
    config.init.b = line.Number<double>();
  } else if (name == "optimizer") {
    ReadOptimizer(line, config);
  } else if (name == "admit") {
    config.admit.kind = line.OneOf<TableAdmit::Kind>(kAdmits);
    config.admit.count = line.Number<int64_t>();
    config.admit.probability = line.Number<double>();
    config.admit.time_to_live = line.Number<int64_t>();
    config.admit.sketch_bytes = line.Number<int64_t>();
    config.admit.window = line.Number<int64_t>();
  } else if (name == "unadmitted") {
    config.unadmitted = line.OneOf<Unadmitted>(kUnadmitted);
  } else if (name == "score") {
    config.score.show_weight = line.Number<double>();
    config.score.click_weight = line.Number<double>();
    config.score.half_life = line.Number<int64_t>();
  } else if (name == "expire_unseen") {
    config.expire.unseen = line.Number<int64_t>();
  } else if (name == "expire_below") {
    config.expire.min_score = line.Number<double>();
  } else if (name == "expire_bytes") {
    config.expire.max_bytes = line.Number<int64_t>();
  } else if (name == "grow_at") {
    config.grow_at = line.Number<double>();
  } else if (name == "feature") {
    config.features.push_back(Unescape(line.rest()));
  }
}

// "adagrad", "rmsprop with slots v, m", "none".
std::string SlotsOf(const TableConfig& config) {
  if (!config.optimizer) return "none";
  std::string text(config.optimizer->fact().name);
  std::string_view between = " with slots ";
  for (const SlotFact& slot : config.optimizer->slots()) {
    text += between;
    text += slot.name;
    between = ", ";
  }
  return text;
}

}  // namespace

std::string DescribeTable(const TableConfig& config) {
  std::string text;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  };
  line("width {}", config.width);
  line("store {}", NameOf(kStores, config.store));
  line("seed {}", config.seed);
  line("init {} {} {}", NameOf(kInits, config.init.kind), config.init.a, config.init.b);
  if (config.optimizer) {
    Optimizer optimizer = *config.optimizer;
    std::string numbers = fmt::format(" lr {}", optimizer.lr);
    for (const HyperFact& hyper : optimizer.fact().hypers) {
      numbers += fmt::format(" {} {}", hyper.name, HyperOf(optimizer, hyper.name));
    }
    line("optimizer {}{}", optimizer.fact().name, numbers);
  }
  const TableAdmit& admit = config.admit;
  line("admit {} {} {} {} {} {}", NameOf(kAdmits, admit.kind), admit.count, admit.probability,
       admit.time_to_live, admit.sketch_bytes, admit.window);
  line("unadmitted {}", NameOf(kUnadmitted, config.unadmitted));
  line("score {} {} {}", config.score.show_weight, config.score.click_weight,
       config.score.half_life);
  if (config.expire.unseen != 0) line("expire_unseen {}", config.expire.unseen);
  if (config.expire.min_score) line("expire_below {}", *config.expire.min_score);
  if (config.expire.max_bytes != 0) line("expire_bytes {}", config.expire.max_bytes);
  if (config.grow_at) line("grow_at {}", *config.grow_at);
  for (const std::string& feature : config.features) line("feature {}", Escape(feature));
  return text;
}

TableConfig ParseTableDescription(std::string_view text) {
  TableConfig config;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty()) ReadLine(Line(line), config);
  }
  if (config.width < 1 || config.width > kMaxTableWidth) {
    Fail(ErrorCode::kStorage, "the description of the table has a width of {}, not from 1 to {}",
         config.width, kMaxTableWidth);
  }
  return config;
}

std::string DifferenceOfRows(const TableConfig& a, const TableConfig& b) {
  if (a.width != b.width) return fmt::format("width {} and {}", a.width, b.width);
  if (a.store != b.store) {
    return fmt::format("numbers in {} and in {}", NameOf(kStores, a.store),
                       NameOf(kStores, b.store));
  }
  if (a.seed != b.seed) return fmt::format("seed {} and {}", a.seed, b.seed);
  const std::string slots_a = SlotsOf(a), slots_b = SlotsOf(b);
  if (slots_a != slots_b) return fmt::format("optimizer {} and {}", slots_a, slots_b);
  return "";
}

}  // namespace catamaran

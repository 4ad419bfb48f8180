// commit/state_match.cc

#include "catamaran/commit/state_match.h"

#include <algorithm>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/exec/setting_values.h"

namespace catamaran {
namespace {

std::string LayoutOf(const StateDecl& decl) {
  if (decl.kind != StateKind::kTable) return decl.type.ToString();
  std::string layout = "u64 -> " + decl.type.ToString();
  const Attr& optimizer = FindAttr(decl.settings, "optimizer");
  if (const AttrCall* call = optimizer.call()) {
    layout += ", " + call->name;
  } else if (!optimizer.empty()) {
    layout += ", " + optimizer.AsWord();
  }
  const AttrWord* unadmitted = FindAttr(decl.settings, "unadmitted").get<AttrWord>();
  if (unadmitted != nullptr && unadmitted->word == "shared") layout += ", shared row";
  return layout;
}

std::string StoreOf(const StateDecl& decl) {
  if (decl.kind != StateKind::kTable) return "";
  const Attr& store = FindAttr(decl.settings, "store");
  if (store.empty()) return "f32";
  const Choice choice(store);
  return choice.name.starts_with("i8") ? "int8" : choice.name;
}

bool Fits(const SavedDecl& saved, const SavedDecl& now) {
  return saved.kind == now.kind && saved.layout == now.layout &&
         (saved.store == now.store || saved.store.empty() || now.store.empty());
}

// What `path` is called after the renames; the longest one that applies counts.
std::string Renamed(const std::string& path, const std::map<std::string, std::string>& renames,
                    std::set<std::string>& used) {
  for (size_t end = path.size(); end != path.npos && end > 0; end = path.rfind('.', end - 1)) {
    const auto found = renames.find(path.substr(0, end));
    if (found == renames.end()) continue;
    used.insert(found->first);
    return found->second + path.substr(end);
  }
  return path;
}

std::string Describe(const SavedDecl& decl) {
  const bool usual = decl.store.empty() || decl.store == "f32";
  return fmt::format("{} {}{}", StateKindName(decl.kind), decl.layout,
                     usual ? "" : ", store " + decl.store);
}

const SavedDecl* Find(const std::vector<SavedDecl>& decls, const std::string& path) {
  const auto found = std::find_if(decls.begin(), decls.end(),
                                  [&](const SavedDecl& decl) { return decl.path == path; });
  return found == decls.end() ? nullptr : &*found;
}

// Reports a rename that names nothing, which would otherwise read as "new" and "missing".
void CheckRenames(const std::map<std::string, std::string>& renames,
                  const std::set<std::string>& used, const std::vector<SavedDecl>& saved,
                  const std::string& source) {
  for (const auto& [from, to] : renames) {
    if (used.contains(from)) continue;
    std::vector<std::string_view> paths;
    for (const SavedDecl& decl : saved) paths.push_back(decl.path);
    const std::string close = Suggest(from, paths);
    Fail("{}: rename {}={}: the saved state has no @{}{}", source, from, to, from,
         close.empty() ? "" : "; did you mean @" + close + "?");
  }
}

// "; renamed? fc1.w=hidden.w" when exactly one of the missing could be this new one.
std::string RenameHint(const SavedDecl& decl, const std::vector<const SavedDecl*>& missing) {
  const SavedDecl* candidate = nullptr;
  for (const SavedDecl* other : missing) {
    if (!Fits(*other, decl)) continue;
    if (candidate != nullptr) return {};
    candidate = other;
  }
  if (candidate == nullptr) return {};
  return fmt::format("; renamed? {}={}", candidate->path, decl.path);
}

}  // namespace

std::vector<SavedDecl> DeclarationsOf(const Program& flat) {
  std::vector<SavedDecl> decls;
  for (const StateDecl* decl : flat.States()) {
    if (decl->kind == StateKind::kChannel) continue;
    decls.push_back({decl->name, decl->kind, LayoutOf(*decl), flat.sources().ToString(decl->at),
                     StoreOf(*decl)});
  }
  return decls;
}

StateMatch MatchState(const std::vector<SavedDecl>& saved, const std::vector<SavedDecl>& now,
                      const MatchOptions& options, const std::string& source) {
  StateMatch match;
  std::string problems;
  bool refused_new = false, refused_missing = false;
  std::set<std::string> used;
  std::map<std::string, const SavedDecl*> saved_by_new_path;
  for (const SavedDecl& decl : saved) {
    const std::string path = Renamed(decl.path, options.renames, used);
    const auto [place, inserted] = saved_by_new_path.emplace(path, &decl);
    if (!inserted) {
      Fail("{}: after renaming, @{} and @{} of the saved state are both @{}", source,
           place->second->path, decl.path, path);
    }
  }
  CheckRenames(options.renames, used, saved, source);

  std::vector<const SavedDecl*> missing;
  for (const auto& [path, decl] : saved_by_new_path) {
    if (Find(now, path) == nullptr) missing.push_back(decl);
  }
  for (const SavedDecl& decl : now) {
    const auto found = saved_by_new_path.find(decl.path);
    if (found == saved_by_new_path.end()) {
      match.initialised.push_back(decl.path);
      if (options.allow_new) continue;
      refused_new = true;
      problems += fmt::format("\n  new        @{} : {}, declared at {}{}", decl.path,
                              Describe(decl), decl.at, RenameHint(decl, missing));
      continue;
    }
    const SavedDecl& before = *found->second;
    if (Fits(before, decl)) {
      match.loaded.push_back({before.path, decl.path});
      continue;
    }
    match.initialised.push_back(decl.path);
    match.left_out.push_back(before.path);
    if (options.allow_new && options.allow_missing) continue;
    refused_new |= !options.allow_new;
    refused_missing |= !options.allow_missing;
    problems +=
        fmt::format("\n  different  @{} : {}, declared at {}\n{:{}}saved as {}, declared at {}",
                    decl.path, Describe(decl), decl.at, "", 13, Describe(before), before.at);
  }
  // In the order of the file.
  for (const SavedDecl& decl : saved) {
    if (std::find(missing.begin(), missing.end(), &decl) == missing.end()) continue;
    match.left_out.push_back(decl.path);
    if (options.allow_missing) continue;
    refused_missing = true;
    problems += fmt::format("\n  missing    @{} : {}, declared at {} when it was saved", decl.path,
                            Describe(decl), decl.at);
  }
  if (problems.empty()) return match;

  std::string ways;
  if (refused_new) ways += "\n  allow-new: what is new keeps its initial value";
  if (refused_missing) ways += "\n  allow-missing: what the program no longer has is left out";
  ways += "\n  rename a=b: what was saved as @a is now @b";
  Fail("{}: the saved state does not fit the program:{}\nIt was not loaded. To load it:{}", source,
       problems, ways);
}

}  // namespace catamaran

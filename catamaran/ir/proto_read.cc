#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/op_shape.h"
#include "catamaran/ir/program.pb.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ir/proto_dims.h"
#include "catamaran/ir/proto_header.h"

namespace catamaran {
namespace {

// How deep messages may lie in each other: programs in imports, builders, blocks, attributes.
constexpr int kMessageDepth = 3 * ProtoLimits::kImportDepth + 2 * ProtoLimits::kBuilderDepth +
                              2 * ProtoLimits::kBlockDepth + 3 * ProtoLimits::kAttrDepth + 32;

// The files and frames of a stored program, as they are numbered in the table it is read into.
struct SourceMap {
  std::shared_ptr<SourceTable> table;
  std::vector<uint32_t> files = {0};
  std::vector<uint32_t> frames = {0};

  Location Map(const v1::Location& at) const {
    if (at.file() >= files.size() || at.frame() >= frames.size()) {
      Fail(ErrorCode::kInvalidProgram, "a location refers to file {} and frame {} of {} and {}",
           at.file(), at.frame(), files.size() - 1, frames.size() - 1);
    }
    return {files[at.file()], at.line(), at.column(), frames[at.frame()]};
  }
};

SourceMap ReadSources(const v1::Sources& sources) {
  SourceMap map;
  map.table = std::make_shared<SourceTable>();
  for (const v1::SourceFile& file : sources.files()) {
    map.files.push_back(map.table->AddFile(file.name(), file.text()));
  }
  for (const v1::SourceFrame& frame : sources.frames()) {
    // Only earlier frames are in the map yet, so the chain ends.
    map.frames.push_back(map.table->AddFrame(frame.what(), map.Map(frame.at())));
  }
  return map;
}

class Reader {
 public:
  Reader(const v1::Program& message, std::shared_ptr<const OpSet> ops, const SourceMap* around,
         size_t& dim_budget, int import_depth)
      : message_(message),
        dim_budget_(dim_budget),
        import_depth_(import_depth),
        pools_(message, dim_budget) {
    if (message.op_set_version() > OpSet::kVersion) {
      Fail(ErrorCode::kInvalidProgram,
           "it was stored with version {} of the op set; this build knows versions up to {}",
           message.op_set_version(), OpSet::kVersion);
    }
    if (message.has_sources()) {
      own_sources_ = ReadSources(message.sources());
      sources_ = &own_sources_;
    } else {
      if (!around) Fail(ErrorCode::kInvalidProgram, "the list of source files is missing");
      sources_ = around;
    }
    program_ = std::make_unique<Program>(message.name(), std::move(ops), sources_->table);
    program_->flat = message.flat();
    for (const std::string& name : message.op_names()) {
      defs_.push_back(program_->ops().Find(name));
    }
  }

  std::unique_ptr<Program> Read() {
    for (const v1::Item& item : message_.items()) ReadItem(item, 0, program_->items);
    return std::move(program_);
  }

 private:
  template <class Message>
  Location At(const Message& message) const {
    return message.has_at() ? sources_->Map(message.at()) : Location{};
  }

  [[noreturn]] void FailAt(const Location& at, const std::string& what) const {
    Fail(ErrorCode::kInvalidProgram, "{}{}{}", at.known() ? sources_->table->ToString(at) : "",
         at.known() ? ": " : "", what);
  }

  const OpDef& Def(const v1::Op& op) const {
    if (op.name() >= defs_.size()) {
      Fail(ErrorCode::kInvalidProgram, "op name {} is referred to where {} are known", op.name(),
           defs_.size());
    }
    if (const OpDef* def = defs_[op.name()]) return *def;
    const std::string& name = message_.op_names(op.name());
    FailAt(At(op),
           fmt::format("there is no op `{}` in this op set (the program was stored with version {} "
                       "of the op set; this build has version {})",
                       name, message_.op_set_version(), OpSet::kVersion));
  }

  Attr ReadAttr(const v1::Attr& attr, int depth) const {
    if (depth > ProtoLimits::kAttrDepth)
      Fail(ErrorCode::kInvalidProgram, "an attribute is nested too deep");
    switch (attr.value_case()) {
      case v1::Attr::kBoolean:
        return Attr(attr.boolean());
      case v1::Attr::kInteger:
        return Attr(Dim(attr.integer()));
      case v1::Attr::kDim:
        return Attr(pools_.dim(attr.dim()));
      case v1::Attr::kNumber:
        return Attr(attr.number());
      case v1::Attr::kText:
        return Attr(attr.text());
      case v1::Attr::kDtype:
        return Attr(ProtoPools::ToDType(attr.dtype()));
      case v1::Attr::kWord:
        return Attr(AttrWord{attr.word()});
      case v1::Attr::kState:
        return Attr(AttrState{attr.state()});
      case v1::Attr::kCall:
        return Attr(ReadCall(attr.call(), depth));
      case v1::Attr::kList: {
        Attr::List list;
        list.reserve(attr.list().items_size());
        for (const v1::Attr& item : attr.list().items()) list.push_back(ReadAttr(item, depth + 1));
        return Attr(std::move(list));
      }
      case v1::Attr::VALUE_NOT_SET:
        break;
    }
    return Attr();
  }

  AttrCall ReadCall(const v1::Call& call, int depth) const {
    AttrCall out{call.name(), {}, ReadNamed(call.named(), depth + 1), At(call)};
    for (const v1::Attr& a : call.positional()) out.positional.push_back(ReadAttr(a, depth + 1));
    return out;
  }

  std::vector<NamedAttr> ReadNamed(const google::protobuf::RepeatedPtrField<v1::NamedAttr>& attrs,
                                   int depth) const {
    std::vector<NamedAttr> out;
    out.reserve(attrs.size());
    for (const v1::NamedAttr& a : attrs) out.push_back({a.name(), ReadAttr(a.value(), depth)});
    return out;
  }

  const Type& ReadType(const v1::Value& value) const {
    const Type& type = pools_.type(value.type());
    if (typed_ && !type)
      Fail(ErrorCode::kInvalidProgram, "a value of a typed function has no type");
    return type;
  }

  void ReadBlock(const v1::Block& message, int depth, Block& block) {
    if (depth > ProtoLimits::kBlockDepth)
      Fail(ErrorCode::kInvalidProgram, "blocks are nested too deep");
    const size_t before = visible_.size();
    for (const v1::Value& arg : message.args()) {
      visible_.push_back(block.AddArg(arg.name(), ReadType(arg)));
    }
    for (const v1::Op& op : message.ops()) ReadOp(op, depth, block);
    visible_.resize(before);
  }

  void ReadOp(const v1::Op& message, int depth, Block& block) {
    auto op = std::make_unique<Op>(Def(message), At(message));
    operands_.clear();
    for (uint32_t number : message.operands()) {
      if (number > visible_.size()) {
        FailAt(op->at, fmt::format("{}: value {} is used where {} are defined", op->name(), number,
                                   visible_.size()));
      }
      operands_.push_back(number == 0 ? nullptr : visible_[number - 1]);
    }
    op->SetOperands(operands_);
    op->attrs = ReadNamed(message.attrs(), 0);
    op->states.assign(message.states().begin(), message.states().end());
    op->callee = message.callee();
    for (const v1::Block& inner : message.blocks()) ReadBlock(inner, depth + 1, *op->AddBlock());
    for (const v1::Value& result : message.results()) {
      visible_.push_back(op->AddResult(result.name(), ReadType(result)));
    }
    if (std::string error = OpShapeError(*op); !error.empty()) {
      FailAt(op->at, op->name() + ": " + error);
    }
    block.Insert(std::move(op));
  }

  std::vector<StaticParam> ReadStatics(
      const google::protobuf::RepeatedPtrField<v1::StaticParam>& params) const {
    std::vector<StaticParam> out;
    for (const v1::StaticParam& p : params) {
      if (p.kind() < v1::StaticParam::BOOL || p.kind() > v1::StaticParam::ANY) {
        Fail(ErrorCode::kInvalidProgram, "there is no kind of static argument with the number {}",
             static_cast<int>(p.kind()));
      }
      out.push_back({p.name(), static_cast<StaticKind>(p.kind() - 1),
                     ReadAttr(p.default_value(), 0), p.doc(), At(p)});
    }
    return out;
  }

  StateDecl ReadState(const v1::State& message) const {
    if (message.kind() < v1::State::PARAM || message.kind() > v1::State::CHANNEL) {
      Fail(ErrorCode::kInvalidProgram, "there is no kind of state with the number {}",
           static_cast<int>(message.kind()));
    }
    StateDecl state;
    state.kind = static_cast<StateKind>(message.kind() - 1);
    state.name = message.name();
    state.type = pools_.type(message.type());
    state.init = ReadAttr(message.init(), 0);
    state.settings = ReadNamed(message.settings(), 0);
    state.at = At(message);
    const TypeKind wanted = state.kind == StateKind::kChannel ? TypeKind::kChan : TypeKind::kTensor;
    if (state.type.kind() != wanted) {
      FailAt(state.at, fmt::format("the {} @{} cannot have the type {}", StateKindName(state.kind),
                                   state.name, state.type.ToString()));
    }
    return state;
  }

  std::unique_ptr<Function> ReadFunction(const v1::Function& message) {
    auto f = std::make_unique<Function>();
    f->name = message.name();
    f->at = At(message);
    f->statics = ReadStatics(message.statics());
    f->order.assign(message.order().begin(), message.order().end());
    for (const v1::Location& at : message.arg_locations()) {
      f->arg_locations.push_back(sources_->Map(at));
    }
    f->typed = message.typed();
    if (program_->flat && !f->typed) {
      FailAt(f->at, fmt::format("the function {} of a flat program has no types", f->name));
    }
    typed_ = f->typed;
    for (const v1::Value& r : message.results()) f->results.push_back({r.name(), ReadType(r)});
    f->results_declared = message.results_declared();
    visible_.clear();
    ReadBlock(message.body(), 0, f->body());
    if (std::string error = BodyShapeError(f->body()); !error.empty()) {
      FailAt(f->at, fmt::format("function {}: {}", f->name, error));
    }
    const auto statics = std::count(f->order.begin(), f->order.end(), true);
    if (statics > std::ssize(f->statics) || std::ssize(f->order) - statics > f->body().num_args() ||
        std::ssize(f->arg_locations) > f->body().num_args() + std::ssize(f->statics)) {
      FailAt(f->at, fmt::format("function {}: more arguments are listed than there are", f->name));
    }
    for (const v1::DimCheck& check : message.checks()) {
      f->checks.push_back(
          {pools_.dim(check.left()), pools_.dim(check.right()), At(check), check.what()});
    }
    f->next_fresh = message.next_fresh();
    return f;
  }

  void ReadItem(const v1::Item& item, int depth, Items& items) {
    const bool expanded =
        item.item_case() == v1::Item::kState || item.item_case() == v1::Item::kFunction;
    if (program_->flat && !expanded)
      Fail(ErrorCode::kInvalidProgram, "a flat program holds more than state and functions");
    switch (item.item_case()) {
      case v1::Item::kState:
        items.Add(ReadState(item.state()));
        return;
      case v1::Item::kFunction:
        items.Add(ReadFunction(item.function()));
        return;
      case v1::Item::kInstance: {
        const v1::Instance& m = item.instance();
        items.Add(Instance{m.name(), ReadCall(m.call(), 0), At(m)});
        return;
      }
      case v1::Item::kBuilder: {
        if (depth >= ProtoLimits::kBuilderDepth)
          Fail(ErrorCode::kInvalidProgram, "builders are nested too deep");
        const v1::Builder& m = item.builder();
        auto builder = std::make_unique<BuilderDecl>();
        builder->name = m.name();
        builder->params = ReadStatics(m.params());
        builder->at = At(m);
        for (const v1::Item& inner : m.items()) ReadItem(inner, depth + 1, builder->items);
        items.Add(std::move(builder));
        return;
      }
      case v1::Item::kImport:
        items.Add(ReadImport(item.import()));
        return;
      case v1::Item::ITEM_NOT_SET:
        break;
    }
    Fail(ErrorCode::kInvalidProgram, "an item is of no known kind");
  }

  std::unique_ptr<Import> ReadImport(const v1::Import& message) {
    if (import_depth_ >= ProtoLimits::kImportDepth)
      Fail(ErrorCode::kInvalidProgram, "imports are nested too deep");
    auto import = std::make_unique<Import>();
    import->alias = message.alias();
    import->path = message.path();
    import->at = At(message);
    if (!message.has_program()) {
      FailAt(import->at, fmt::format("the program of the import {} is missing", import->alias));
    }
    import->program =
        Reader(message.program(), program_->ops_ptr(), sources_, dim_budget_, import_depth_ + 1)
            .Read();
    return import;
  }

  const v1::Program& message_;
  size_t& dim_budget_;
  const int import_depth_;
  const ProtoPools pools_;
  SourceMap own_sources_;
  const SourceMap* sources_ = nullptr;
  std::unique_ptr<Program> program_;
  std::vector<const OpDef*> defs_;  // by place in op_names; null for an unknown one
  std::vector<Value*> visible_;     // what value number i + 1 means here
  std::vector<Value*> operands_;
  bool typed_ = false;
};

// The payload of a file whose header is right.
std::string_view CheckHeader(std::string_view bytes) {
  if (!LooksLikeProtoBytes(bytes))
    Fail(ErrorCode::kInvalidProgram, "this is not a stored program: its first bytes are others");
  if (bytes.size() < kProgramHeaderBytes)
    Fail(ErrorCode::kStorage, "the file is cut off in its header");
  const ProgramFileHeader header = DecodeProgramHeader(bytes);
  if (header.version == 0 || header.version > kProgramFormatVersion) {
    Fail(ErrorCode::kInvalidProgram,
         "the file has format version {}; this build reads versions up to {}: use a newer build",
         header.version, kProgramFormatVersion);
  }
  const std::string_view payload = bytes.substr(kProgramHeaderBytes);
  if (payload.size() != header.payload_bytes) {
    Fail(ErrorCode::kStorage, "the file holds {} bytes after its header where {} were written{}",
         payload.size(), header.payload_bytes,
         payload.size() < header.payload_bytes ? ": it is cut off" : "");
  }
  if (payload.size() > ProtoLimits::kBytes) {
    Fail(ErrorCode::kInvalidProgram, "the program takes {} bytes; at most {} can be read",
         payload.size(), ProtoLimits::kBytes);
  }
  if (Crc32c(payload) != header.checksum)
    Fail(ErrorCode::kStorage, "the file is damaged: its checksum does not match");
  return payload;
}

}  // namespace

bool LooksLikeProtoBytes(std::string_view bytes) { return bytes.starts_with(kProgramMagic); }

Program FromProtoBytes(std::string_view bytes, std::shared_ptr<const OpSet> ops,
                       std::string_view name_for_errors) {
  try {
    const std::string_view payload = CheckHeader(bytes);
    google::protobuf::Arena arena;
    auto* message = google::protobuf::Arena::CreateMessage<v1::Program>(&arena);
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(payload.data()),
                                              static_cast<int>(payload.size()));
    in.SetRecursionLimit(kMessageDepth);
    if (!message->ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
      Fail(ErrorCode::kInvalidProgram, "the program is damaged, or nested too deep");
    }
    size_t dim_budget = ProtoPools::BudgetOf(payload.size());
    return std::move(*Reader(*message, std::move(ops), nullptr, dim_budget, 0).Read());
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", name_for_errors, e.what()), e.code());
  }
}

}  // namespace catamaran

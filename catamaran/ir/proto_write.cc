#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <unordered_map>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.pb.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ir/proto_header.h"

namespace catamaran {
namespace {

class Writer {
 public:
  Writer(const Program& program, const ProtoOptions& options, int import_depth)
      : program_(program),
        options_(options),
        import_depth_(import_depth),
        num_files_(program.sources().num_files()),
        num_frames_(program.sources().num_frames()) {}

  // `around` is the program that imports this one, or null.
  void Write(const Program* around, v1::Program& out) {
    out_ = &out;
    out.set_op_set_version(OpSet::kVersion);
    out.set_name(program_.name);
    out.set_flat(program_.flat);
    if (!around || around->sources_ptr() != program_.sources_ptr()) {
      WriteSources(*out.mutable_sources());
    }
    for (const Item& item : program_.items.list()) WriteItem(item, 0, *out.add_items());
  }

 private:
  void WriteSources(v1::Sources& out) {
    const SourceTable& sources = program_.sources();
    for (size_t i = 1; i < num_files_; ++i) {
      v1::SourceFile& file = *out.add_files();
      file.set_name(sources.file_name(i));
      if (options_.keep_source_text) file.set_text(sources.file_text(i));
    }
    for (size_t i = 1; i < num_frames_; ++i) {
      const SourceFrame frame = sources.frame(i);
      v1::SourceFrame& to = *out.add_frames();
      to.set_what(frame.what);
      Put(frame.at, to);
    }
  }

  // Sets `at` of a message that has one; an unknown location is left out.
  template <class Message>
  void Put(const Location& at, Message& out) const {
    if (at != Location{}) PutAlways(at, *out.mutable_at());
  }
  void PutAlways(const Location& at, v1::Location& out) const {
    CATAMARAN_CHECK(at.file < num_files_ && at.frame < num_frames_,
                    "a location of program {} belongs to another source table", program_.name);
    out.set_file(at.file);
    out.set_line(at.line);
    out.set_column(at.column);
    out.set_frame(at.frame);
  }

  uint32_t OpName(const Op& op) {
    auto [it, added] = op_names_.try_emplace(&op.def(), op_names_.size());
    if (added) out_->add_op_names(op.name());
    return it->second;
  }

  uint32_t PutDim(const Dim& dim) {
    const std::string key =
        dim.is_constant() ? "#" + std::to_string(dim.constant()) : dim.sum()->text;
    if (auto it = dims_.find(key); it != dims_.end()) return it->second;
    v1::Dim message;  // added last: what it refers to comes before it
    if (dim.is_constant()) {
      if (dim.constant() != 0) message.add_terms()->set_coefficient(dim.constant());
    } else {
      for (const Dim::Term& term : dim.sum()->terms) {
        v1::Dim::Term& to = *message.add_terms();
        to.set_coefficient(term.coefficient);
        for (const Dim::Atom& atom : term.factors) {
          v1::Dim::Factor& factor = *to.add_factors();
          if (atom.quotient) {
            factor.set_numerator(PutDim(atom.quotient->first));
            factor.set_denominator(PutDim(atom.quotient->second));
          } else {
            factor.set_name(atom.name);
          }
        }
      }
    }
    const uint32_t place = out_->dims_size();
    *out_->add_dims() = message;
    dims_.emplace(key, place);
    return place;
  }

  // 1 + the place of the type, 0 for the empty one.
  uint32_t PutType(const Type& type, int depth = 0) {
    if (!type) return 0;
    if (depth > ProtoLimits::kElementDepth)
      Fail(ErrorCode::kInvalidProgram, "a type is nested too deep to be stored");
    const std::string key = type.ToString();
    if (auto it = types_.find(key); it != types_.end()) return it->second;
    v1::Type message;
    message.set_kind(static_cast<v1::Type::Kind>(type.kind()));
    if (type.is_tensor() || type.is_rows()) {
      message.set_dtype(PutDType(type.dtype()));
      for (const Dim& dim : type.dims()) message.add_dims(PutDim(dim));
      if (type.is_ragged()) message.set_ragged(type.ragged_axis());
    } else {
      message.set_element(PutType(type.element(), depth + 1));
    }
    *out_->add_types() = message;
    const uint32_t place = out_->types_size();
    types_.emplace(key, place);
    return place;
  }

  static v1::DataType PutDType(DType dtype) {
    return static_cast<v1::DataType>(static_cast<int>(dtype) + 1);
  }

  void WriteAttr(const Attr& attr, int depth, v1::Attr& out) {
    if (depth > ProtoLimits::kAttrDepth)
      Fail(ErrorCode::kInvalidProgram, "an attribute is nested too deep to be stored");
    if (auto* b = attr.get<bool>()) {
      out.set_boolean(*b);
    } else if (auto* d = attr.get<Dim>()) {
      if (d->is_constant()) {
        out.set_integer(d->constant());
      } else {
        out.set_dim(PutDim(*d));
      }
    } else if (auto* x = attr.get<double>()) {
      out.set_number(*x);
    } else if (auto* s = attr.get<std::string>()) {
      out.set_text(*s);
    } else if (auto* t = attr.get<DType>()) {
      out.set_dtype(PutDType(*t));
    } else if (auto* w = attr.get<AttrWord>()) {
      out.set_word(w->word);
    } else if (auto* p = attr.get<AttrState>()) {
      out.set_state(p->path);
    } else if (auto* c = attr.call()) {
      WriteCall(*c, depth, *out.mutable_call());
    } else if (auto* l = attr.list()) {
      v1::Attr::List& list = *out.mutable_list();
      for (const Attr& item : *l) WriteAttr(item, depth + 1, *list.add_items());
    }
  }

  void WriteCall(const AttrCall& call, int depth, v1::Call& out) {
    out.set_name(call.name);
    for (const Attr& a : call.positional) WriteAttr(a, depth + 1, *out.add_positional());
    WriteNamed(call.named, depth + 1, *out.mutable_named());
    Put(call.at, out);
  }

  void WriteNamed(const std::vector<NamedAttr>& attrs, int depth,
                  google::protobuf::RepeatedPtrField<v1::NamedAttr>& out) {
    for (const NamedAttr& a : attrs) {
      v1::NamedAttr& to = *out.Add();
      to.set_name(a.name);
      WriteAttr(a.value, depth, *to.mutable_value());
    }
  }

  // Numbers the value and writes it.
  void Define(const Value& value, v1::Value& out) {
    numbers_[&value] = ++visible_;
    out.set_name(value.name);
    out.set_type(PutType(value.type));
  }

  void WriteBlock(const Block& block, int depth, v1::Block& out) {
    if (depth > ProtoLimits::kBlockDepth)
      Fail(ErrorCode::kInvalidProgram, "blocks are nested too deep to be stored");
    const uint32_t before = visible_;
    for (int i = 0; i < block.num_args(); ++i) Define(*block.arg(i), *out.add_args());
    for (const Op* op = block.first(); op; op = op->next()) WriteOp(*op, depth, *out.add_ops());
    visible_ = before;
  }

  void WriteOp(const Op& op, int depth, v1::Op& out) {
    out.set_name(OpName(op));
    for (int i = 0; i < op.num_operands(); ++i) {
      uint32_t number = 0;
      if (const Value* v = op.operand(i)) {
        auto it = numbers_.find(v);
        CATAMARAN_CHECK(it != numbers_.end(), "{} uses a value that is not defined before it",
                        op.name());
        number = it->second;
      }
      out.add_operands(number);
    }
    WriteNamed(op.attrs, 0, *out.mutable_attrs());
    for (const std::string& state : op.states) out.add_states(state);
    out.set_callee(op.callee);
    for (const auto& block : op.blocks) WriteBlock(*block, depth + 1, *out.add_blocks());
    for (int i = 0; i < op.num_results(); ++i) Define(*op.result(i), *out.add_results());
    Put(op.at, out);
  }

  void WriteStatics(const std::vector<StaticParam>& params,
                    google::protobuf::RepeatedPtrField<v1::StaticParam>& out) {
    for (const StaticParam& p : params) {
      v1::StaticParam& to = *out.Add();
      to.set_name(p.name);
      to.set_kind(static_cast<v1::StaticParam::Kind>(static_cast<int>(p.kind) + 1));
      if (!p.default_value.empty()) WriteAttr(p.default_value, 0, *to.mutable_default_value());
      to.set_doc(p.doc);
      Put(p.at, to);
    }
  }

  void WriteState(const StateDecl& state, v1::State& out) {
    out.set_kind(static_cast<v1::State::Kind>(static_cast<int>(state.kind) + 1));
    out.set_name(state.name);
    out.set_type(PutType(state.type));
    if (!state.init.empty()) WriteAttr(state.init, 0, *out.mutable_init());
    WriteNamed(state.settings, 0, *out.mutable_settings());
    Put(state.at, out);
  }

  void WriteFunction(const Function& f, v1::Function& out) {
    out.set_name(f.name);
    Put(f.at, out);
    WriteStatics(f.statics, *out.mutable_statics());
    for (bool is_static : f.order) out.add_order(is_static);
    for (const Location& at : f.arg_locations) PutAlways(at, *out.add_arg_locations());
    for (const FunctionResult& r : f.results) {
      v1::Value& to = *out.add_results();
      to.set_name(r.name);
      to.set_type(PutType(r.type));
    }
    out.set_results_declared(f.results_declared);
    numbers_.clear();
    visible_ = 0;
    WriteBlock(f.body(), 0, *out.mutable_body());
    out.set_typed(f.typed);
    for (const DimCheck& check : f.checks) {
      v1::DimCheck& to = *out.add_checks();
      to.set_left(PutDim(check.left));
      to.set_right(PutDim(check.right));
      to.set_what(check.what);
      Put(check.at, to);
    }
    out.set_next_fresh(f.next_fresh);
  }

  void WriteItem(const Item& item, int depth, v1::Item& out) {
    if (auto* state = std::get_if<std::unique_ptr<StateDecl>>(&item)) {
      WriteState(**state, *out.mutable_state());
    } else if (auto* function = std::get_if<std::unique_ptr<Function>>(&item)) {
      WriteFunction(**function, *out.mutable_function());
    } else if (auto* instance = std::get_if<std::unique_ptr<Instance>>(&item)) {
      v1::Instance& to = *out.mutable_instance();
      to.set_name((*instance)->name);
      WriteCall((*instance)->call, 0, *to.mutable_call());
      Put((*instance)->at, to);
    } else if (auto* builder = std::get_if<std::unique_ptr<BuilderDecl>>(&item)) {
      if (depth >= ProtoLimits::kBuilderDepth)
        Fail(ErrorCode::kInvalidProgram, "builders are nested too deep to be stored");
      v1::Builder& to = *out.mutable_builder();
      to.set_name((*builder)->name);
      WriteStatics((*builder)->params, *to.mutable_params());
      for (const Item& i : (*builder)->items.list()) WriteItem(i, depth + 1, *to.add_items());
      Put((*builder)->at, to);
    } else if (auto* import = std::get_if<std::unique_ptr<Import>>(&item)) {
      WriteImport(**import, *out.mutable_import());
    }
  }

  void WriteImport(const Import& import, v1::Import& out) {
    if (import_depth_ >= ProtoLimits::kImportDepth)
      Fail(ErrorCode::kInvalidProgram, "imports are nested too deep to be stored");
    out.set_alias(import.alias);
    out.set_path(import.path);
    Put(import.at, out);
    if (import.program) {
      Writer(*import.program, options_, import_depth_ + 1).Write(&program_, *out.mutable_program());
    }
  }

  const Program& program_;
  const ProtoOptions& options_;
  const int import_depth_;
  const size_t num_files_, num_frames_;
  v1::Program* out_ = nullptr;
  std::unordered_map<const OpDef*, uint32_t> op_names_;
  std::unordered_map<std::string, uint32_t> dims_, types_;
  std::unordered_map<const Value*, uint32_t> numbers_;
  uint32_t visible_ = 0;  // values that can be named at this point
};

}  // namespace

std::string ProgramHeader(std::string_view payload) {
  ProgramFileHeader header;
  header.version = kProgramFormatVersion;
  header.checksum = Crc32c(payload);
  header.payload_bytes = payload.size();
  return EncodeProgramHeader(header);
}

std::string ToProtoBytes(const Program& program, const ProtoOptions& options) {
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<v1::Program>(&arena);
  try {
    Writer(program, options, 0).Write(nullptr, *message);
  } catch (const Error& e) {
    Fail(e.code(), "storing program {}: {}", program.name, e.what());
  }
  const size_t size = message->ByteSizeLong();
  if (size > ProtoLimits::kBytes) {
    Fail(ErrorCode::kInvalidProgram,
         "storing program {}: it takes {} bytes; at most {} can be read back", program.name, size,
         ProtoLimits::kBytes);
  }
  std::string payload;
  {
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message->SerializeWithCachedSizes(&out);
  }
  return ProgramHeader(payload) + payload;
}

}  // namespace catamaran

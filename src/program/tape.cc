#include "program/tape.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace trainfit::program {
namespace {

std::size_t Index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// Tensor.

Tensor::Tensor(const Tensor& other) : tape_(other.tape_), value_(other.value_) {
  if (tape_ != nullptr) tape_->Retain(value_);
}
Tensor::Tensor(Tensor&& other) noexcept : tape_(other.tape_), value_(other.value_) {
  other.tape_ = nullptr;
  other.value_ = -1;
}
Tensor& Tensor::operator=(Tensor other) noexcept {
  std::swap(tape_, other.tape_);
  std::swap(value_, other.value_);
  return *this;
}
Tensor::~Tensor() {
  if (tape_ != nullptr) tape_->Release(value_);
}
std::int64_t Tensor::rows() const { return tape_->values_[Index(value_)].shape.rows; }
std::int64_t Tensor::cols() const { return tape_->values_[Index(value_)].shape.cols; }
spec::Dtype Tensor::dtype() const { return tape_->values_[Index(value_)].dtype; }
bool Tensor::requires_grad() const { return tape_->values_[Index(value_)].requires_grad; }
Bytes Tensor::bytes() const { return Bytes(elements() * spec::ElementBytes(dtype())); }

// Tensors.

Tape::Tape(std::size_t expected_events) {
  // About two events a value, four values a node, in the lowerings there are.
  storages_.reserve(expected_events / 2);
  values_.reserve(expected_events / 2);
  gradients_.reserve(expected_events / 2);
  nodes_.reserve(expected_events / 8);
  events_.reserve(expected_events);
  operations_.reserve(expected_events / 4);
}

Tape::~Tape() {
  closing_ = true;  // references that die now are not part of the recording
  cast_cache_.clear();
  kept_.clear();
  gradients_.clear();
  nodes_.clear();
}

std::int32_t Tape::AddStorage(Storage storage) {
  storages_.push_back(storage);
  return static_cast<std::int32_t>(storages_.size() - 1);
}

Tensor Tape::AddValue(std::int32_t storage, Shape shape, spec::Dtype dtype) {
  Value value;
  value.storage = storage;
  value.shape = shape;
  value.dtype = dtype;
  const auto id = static_cast<std::int32_t>(values_.size());
  value.gradient_of = id;
  values_.push_back(value);
  gradients_.emplace_back();
  Retain(id);
  return Tensor(this, id);
}

Tensor Tape::New(Shape shape, spec::Dtype dtype, Role role, const char* label) {
  const Bytes bytes(shape.rows * shape.cols * spec::ElementBytes(dtype));
  Tensor tensor = NewBytes(bytes, role, label);
  Value& value = values_[Index(tensor.value())];
  value.shape = shape;
  value.dtype = dtype;
  return tensor;
}

Tensor Tape::NewBytes(Bytes bytes, Role role, const char* label, Place place, Stream stream) {
  Storage storage;
  storage.slot = {0, next_slot_++};
  storage.bytes = bytes;
  storage.role = role;
  storage.place = place;
  storage.stream = stream;
  storage.label = label;
  storage.alloc_event = static_cast<std::int32_t>(events_.size());
  events_.push_back({EventKind::kAlloc, place, role, stream, storage.slot, {}, bytes, label});
  return AddValue(AddStorage(storage), {bytes.value(), 1}, spec::Dtype::kUint8);
}

Tensor Tape::View(const Tensor& tensor, Shape shape) {
  const Value source = values_[Index(tensor.value())];
  Tensor view = AddValue(source.storage, shape, source.dtype);
  values_.back().gradient_of = source.gradient_of;
  values_.back().requires_grad = source.requires_grad;
  values_.back().leaf = source.leaf;
  return view;
}

Tensor Tape::DetachedView(const Tensor& tensor, Shape shape) {
  const Value source = values_[Index(tensor.value())];
  return AddValue(source.storage, shape, source.dtype);
}

Tensor Tape::GradientView(const Tensor& gradient, Shape shape) {
  Tensor view = DetachedView(gradient, shape);
  values_.back().is_view = true;
  return view;
}

Tensor Tape::Parameter(const Leaf& leaf) {
  Tensor tensor = Borrowed(leaf.shape, leaf.dtype);
  Value& value = values_[Index(tensor.value())];
  value.requires_grad = leaf.trainable;
  value.leaf = static_cast<std::int32_t>(leaves_.size());
  leaves_.push_back(leaf);
  return tensor;
}

Tensor Tape::Given(Slot slot, Shape shape, spec::Dtype dtype, bool requires_grad, Role role,
                   const char* label) {
  Storage storage;
  storage.slot = slot;
  storage.bytes = Bytes(shape.rows * shape.cols * spec::ElementBytes(dtype));
  storage.role = role;
  storage.label = label;
  Tensor tensor = AddValue(AddStorage(storage), shape, dtype);
  values_.back().requires_grad = requires_grad;
  return tensor;
}

Tensor Tape::Borrowed(Shape shape, spec::Dtype dtype) {
  Storage storage;
  storage.borrowed = true;
  return AddValue(AddStorage(storage), shape, dtype);
}

Tensor Tape::Ghost(const Tensor& tensor) {
  const Value source = values_[Index(tensor.value())];
  Tensor ghost = Borrowed(source.shape, source.dtype);
  values_.back().gradient_of = source.gradient_of;
  values_.back().requires_grad = source.requires_grad;
  return ghost;
}

void Tape::MoveStorage(Storage& storage, Slot slot, Role role) {
  if (storage.alloc_event >= 0) {  // allocated on this tape: it was born under the new name
    Event& alloc = events_[Index(storage.alloc_event)];
    alloc.slot = slot;
    alloc.role = role;
  } else if (!(storage.slot == slot)) {
    events_.push_back({EventKind::kMove, storage.place, role, storage.stream, storage.slot, slot,
                       storage.bytes, storage.label});
  }
  storage.slot = slot;
  storage.role = role;
}

// Taken by value: the caller gives its reference away.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Tape::Handover(Tensor tensor, Slot slot, Role role) {
  Storage& storage = storages_[ValueStorage(tensor.value())];
  CHECK(!storage.borrowed) << "a borrowed tensor cannot be handed over";
  MoveStorage(storage, slot, role);
  ++storage.references;  // never released here
}

void Tape::AllocSlot(Slot slot, Bytes bytes, Role role, const char* label, Place place,
                     Stream stream) {
  events_.push_back({EventKind::kAlloc, place, role, stream, slot, {}, bytes, label});
}

void Tape::FreeSlot(Slot slot, Bytes bytes, Role role, const char* label, Place place,
                    Stream stream) {
  events_.push_back({EventKind::kFree, place, role, stream, slot, {}, bytes, label});
}

void Tape::Release(std::int32_t value) {
  Storage& storage = storages_[ValueStorage(value)];
  if (--storage.references > 0 || storage.borrowed || closing_) return;
  events_.push_back({EventKind::kFree,
                     storage.place,
                     storage.role,
                     storage.stream,
                     storage.slot,
                     {},
                     storage.bytes,
                     storage.label});
}

// Autograd.

Node* Tape::Record(const char* label, BackwardFunction backward,
                   std::initializer_list<Tensor> inputs, Tensor& output,
                   std::initializer_list<Tensor> save,
                   std::initializer_list<std::int64_t> numbers) {
  const bool wanted =
      std::any_of(inputs.begin(), inputs.end(), [this](const Tensor& t) { return Wants(t); });
  if (!wanted) return nullptr;
  Node& node = nodes_.emplace_back();
  node.label = label;
  node.backward = backward;
  std::size_t i = 0;
  for (const Tensor& input : inputs)
    node.inputs[i++] = input.defined() ? GradientOf(input.value()) : -1;
  i = 0;
  for (const Tensor& tensor : save) node.saved[i++] = tensor;
  i = 0;
  for (const std::int64_t number : numbers) node.numbers[i++] = number;
  AddOutput(node, output);
  if (recomputing_ && save.size() > 0) NoteKept(save, output);
  return &node;
}

// The inputs of an operation are kept before it runs, its outputs after.
void Tape::NoteKept(std::initializer_list<Tensor> kept, const Tensor& output) {
  const auto born = [this](const Tensor& tensor) {
    return tensor.defined() ? storages_[ValueStorage(tensor.value())].alloc_event : -1;
  };
  const std::int32_t start = born(output);
  const bool is_output =
      start < 0 ||
      std::any_of(
          kept.begin(), kept.end(), [&](const Tensor& tensor) { return born(tensor) >= start; });
  last_kept_ = is_output ? events_.size() : Index(start);
}

void Tape::StopRecomputingEarly() {
  const auto stop = events_.begin() + static_cast<std::ptrdiff_t>(last_kept_);
  const auto is_later = [&](const Event& event) {
    if (event.kind != EventKind::kFree) return true;
    return std::any_of(stop, events_.end(), [&](const Event& other) {
      return other.kind == EventKind::kAlloc && other.slot == event.slot;
    });
  };
  const auto runs = std::count_if(stop, events_.end(),
                                  [](const Event& event) { return event.kind == EventKind::kRun; });
  std::vector<Event> frees;
  std::copy_if(stop, events_.end(), std::back_inserter(frees),
               [&](const Event& event) { return !is_later(event); });
  events_.erase(stop, events_.end());
  events_.insert(events_.end(), frees.begin(), frees.end());
  operations_.resize(operations_.size() - static_cast<std::size_t>(runs));
}

void Tape::AddOutput(Node& node, Tensor& output) {
  auto free = std::find(node.outputs.begin(), node.outputs.end(), -1);
  CHECK(free != node.outputs.end()) << "a node has too many outputs";
  *free = output.value();
  values_[Index(output.value())].requires_grad = true;
}

// A later gradient of a leaf is added in place and freed; the first one is taken over.
void Tape::AccumulateLeaf(Leaf& leaf, Tensor gradient) {
  if (leaf.has_gradient) {
    Run(KernelClass::kElementwise, "accumulate gradient", Flops(), 3 * gradient.bytes());
    return;
  }
  Storage& storage = storages_[ValueStorage(gradient.value())];
  if (storage.references > 1 || storage.borrowed) {  // somebody else still holds it: cloned
    const Value& value = values_[Index(gradient.value())];
    Tensor copy = New(value.shape, value.dtype, Role::kGradients, leaf.label);
    Handover(std::move(copy), leaf.gradient, Role::kGradients);
  } else {
    if (storage.alloc_event >= 0) events_[Index(storage.alloc_event)].label = leaf.label;
    storage.label = leaf.label;
    Handover(std::move(gradient), leaf.gradient, Role::kGradients);
  }
  leaf.has_gradient = true;
}

void Tape::AccumulateInto(std::int32_t id, Tensor gradient) {
  if (id < 0 || !gradient.defined()) return;
  const Value value = values_[Index(id)];
  if (!value.requires_grad) return;
  if (value.leaf >= 0) {
    AccumulateLeaf(leaves_[Index(value.leaf)], std::move(gradient));
    return;
  }
  if (!gradients_[Index(id)].defined()) {
    gradients_[Index(id)] = std::move(gradient);
    return;
  }
  Run(KernelClass::kElementwise, "sum of gradients", Flops(), 3 * gradient.bytes());
  const std::int32_t held = gradients_[Index(id)].value();
  const bool is_view = values_[Index(held)].is_view;
  if (!is_view && storages_[ValueStorage(held)].references == 1) return;  // added in place
  const Value summed = values_[Index(held)];
  Tensor sum = New(summed.shape, summed.dtype, Role::kActivations, "sum of gradients");
  gradients_[Index(id)] = std::move(sum);
}

void Tape::RunNode(Node& node) {
  BackwardContext context(*this, node);
  bool any = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    context.gradients_[i] = std::exchange(gradients_[Index(node.outputs[i])], Tensor());
    any = any || context.gradients_[i].defined();
  }
  if (any) node.backward(context);
  for (Tensor& gradient : context.gradients_) gradient.reset();
  if (!retain_graph_) {
    for (Tensor& saved : node.saved) saved.reset();
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    AccumulateInto(node.inputs[i], std::move(context.given_[i]));
  }
}

void Tape::Seed(const Tensor& root, Tensor gradient) {
  AccumulateInto(GradientOf(root.value()), std::move(gradient));
}

Tensor Tape::Backward(const Tensor& root, Tensor gradient, const Tensor& wrt) {
  Seed(root, std::move(gradient));
  const bool grad_was_enabled = std::exchange(grad_enabled_, false);
  const Issuer was_issuer = issuer_;
  if (issuer_ == Issuer::kPython) issuer_ = Issuer::kEngine;
  // Index-based: backward functions record no nodes, but the vector must not be iterated over.
  for (std::size_t i = nodes_.size(); i-- > 0;) RunNode(nodes_[i]);
  if (!retain_graph_) nodes_.clear();
  grad_enabled_ = grad_was_enabled;
  issuer_ = was_issuer;
  if (!wrt.defined()) return {};
  return std::exchange(gradients_[Index(GradientOf(wrt.value()))], Tensor());
}

bool BackwardContext::Wants(int input) const {
  const std::int32_t id = node_.inputs[Index(input)];
  return id >= 0 && tape_.values_[Index(id)].requires_grad;
}
Shape BackwardContext::InputShape(int input) const {
  return tape_.values_[Index(node_.inputs[Index(input)])].shape;
}
spec::Dtype BackwardContext::InputDtype(int input) const {
  return tape_.values_[Index(node_.inputs[Index(input)])].dtype;
}

// Selective checkpointing.

void Tape::set_keeping(Keeping keeping) {
  keeping_ = keeping;
  products_ = 0;
  taken_ = 0;
}

// Of matrix products the first, the third, … Attention has two outputs, each asked for alone.
bool Tape::IsDear(KernelClass kernel) {
  if (kernel == KernelClass::kAttentionForward || kernel == KernelClass::kCollective) return true;
  return kernel == KernelClass::kGemm && ++products_ % 2 == 1;
}

Tensor Tape::TakeKept(KernelClass kernel) {
  if (keeping_ != Keeping::kTake || !IsDear(kernel)) return {};
  const Tensor kept = std::exchange(kept_[taken_++], Tensor());
  return DetachedView(kept, {kept.rows(), kept.cols()});
}

void Tape::Keep(KernelClass kernel, const Tensor& output) {
  if (keeping_ == Keeping::kKeep && IsDear(kernel)) kept_.push_back(output);
}

// Autocast.

Tensor Tape::CachedCast(const Tensor& leaf) const {
  for (const auto& [value, cast] : cast_cache_) {
    if (value == leaf.value()) return cast;
  }
  return {};
}

void Tape::CacheCast(const Tensor& leaf, const Tensor& cast) {
  const Value& value = values_[Index(leaf.value())];
  if (value.leaf < 0 || !leaves_[Index(value.leaf)].trainable) return;
  cast_cache_.emplace_back(leaf.value(), cast);
}

void Tape::DropCastCache() { cast_cache_.clear(); }

// Kernels and segments.

void Tape::HostSync(Stream awaited) {
  Issue({.kernel = KernelClass::kHostSync, .stream = awaited});
}

void Tape::Issue(Operation operation) {
  operation.issuer = issuer_;
  operation.recomputed = operation.recomputed || recomputing_;
  Event event;
  event.slot.index = static_cast<std::int32_t>(operations_.size());
  event.stream = operation.stream;
  event.label = operation.label;
  events_.push_back(event);
  operations_.push_back(operation);
}

void Tape::Run(KernelClass kernel, const char* label, Flops flops, Bytes moved,
               std::array<std::int64_t, 3> shape, Stream stream) {
  Issue({.kernel = kernel,
         .stream = stream,
         .label = label,
         .flops = flops,
         .moved = moved,
         .shape = shape});
}

void Tape::Run(const Operation& operation) { Issue(operation); }

void Tape::Exchange(Collective collective, Group group, const char* label, Bytes moved,
                    Stream stream) {
  Issue({.kernel = KernelClass::kCollective,
         .stream = stream,
         .label = label,
         .moved = moved,
         .collective = collective,
         .group = group});
}

void Tape::Wait(Stream stream, Stream awaited) {
  Issue({.kernel = KernelClass::kWait, .stream = stream, .awaited = awaited});
}

void Tape::EmptyCache() {
  Event event;
  event.kind = EventKind::kEmptyCache;
  event.label = "empty_cache";
  events_.push_back(event);
}

void Tape::Cut() { cuts_.emplace_back(events_.size(), operations_.size()); }

std::vector<const Segment*> Tape::Finish(SegmentStore& store) {
  std::vector<const Segment*> leaves;
  std::size_t event = 0;
  std::size_t operation = 0;
  for (const auto& [event_end, operation_end] : cuts_) {
    const auto at = [](auto& list, std::size_t i) {
      return list.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::vector<Event> events(at(events_, event), at(events_, event_end));
    std::vector<Operation> operations(at(operations_, operation), at(operations_, operation_end));
    for (Event& e : events) {
      if (e.kind == EventKind::kRun) e.slot.index -= static_cast<std::int32_t>(operation);
    }
    leaves.push_back(store.Leaf(std::move(events), std::move(operations)));
    event = event_end;
    operation = operation_end;
  }
  return leaves;
}

}  // namespace trainfit::program

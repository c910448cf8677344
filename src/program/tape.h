// A recorder that runs operations as PyTorch does, without numbers: tensors have sizes, references
// and gradients, and what autograd keeps is an outcome of the operations' save rules.
//
// A C++ `Tensor` is a reference, like a Python variable: a storage disappears with its last
// reference. So a lowering that is written line by line like the framework's own forward pass has
// its lifetimes as well. Three rules of the autograd engine are built in:
//   a. what is saved is a storage; views and second savers cost nothing more;
//   b. a node's saved tensors go right after that node ran in backward, its incoming gradient too;
//   c. the first gradient of a leaf is taken over, a later one is a temporary added in place;
//   d. gradients that meet at a value are added into the first, unless that one is a view: a view
//      holds its base, so its storage has two users, and the sum is a tensor of its own.
// (torch/csrc/autograd/engine.cpp: evaluate_function; input_buffer.cpp: accumulate;
// variable.h: as_view; functions/accumulate_grad.h)
//
// One tape records one frame (a layer, the embedding, the head). Cut() ends a leaf segment; saved
// tensors may cross cuts, since slots of one frame are shared between its segments.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "program/event.h"
#include "program/segment.h"
#include "spec/dtype.h"

namespace trainfit::program {

class Tape;

// A counted reference to a value on a tape. Rows × columns: every view is seen as a matrix.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor other) noexcept;
  ~Tensor();

  bool defined() const { return tape_ != nullptr; }
  void reset() { *this = Tensor(); }
  std::int64_t rows() const;
  std::int64_t cols() const;
  std::int64_t elements() const { return rows() * cols(); }
  spec::Dtype dtype() const;
  bool requires_grad() const;
  Bytes bytes() const;
  std::int32_t value() const { return value_; }

 private:
  friend class Tape;
  Tensor(Tape* tape, std::int32_t value) : tape_(tape), value_(value) {}
  Tape* tape_ = nullptr;
  std::int32_t value_ = -1;
};

struct Shape {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};

// A parameter as the tape sees it.
struct Leaf {
  Slot weight;    // where the weight lies
  Slot gradient;  // where its gradient will lie
  Shape shape;
  spec::Dtype dtype = spec::Dtype::kBf16;
  bool trainable = false;
  bool has_gradient = false;  // one is there already: accumulation, tied weights
  const char* label = "";
};

// Passed to an operation's backward function.
class BackwardContext;
using BackwardFunction = void (*)(BackwardContext&);

struct Node {
  static constexpr int kMaxInputs = 4;
  static constexpr int kMaxOutputs = 3;
  static constexpr int kMaxSaved = 8;
  static constexpr int kMaxNumbers = 8;

  BackwardFunction backward = nullptr;
  std::array<std::int32_t, kMaxInputs> inputs = {-1, -1, -1, -1};  // values that want gradients
  std::array<std::int32_t, kMaxOutputs> outputs = {-1, -1, -1};
  std::array<Tensor, kMaxSaved> saved;
  std::array<std::int64_t, kMaxNumbers> numbers = {};
  const char* label = "";
};

class Tape {
 public:
  // `expected_events`: room to make at once; a block needs about a thousand events.
  explicit Tape(std::size_t expected_events = 0);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  // Tensors.
  Tensor New(Shape shape, spec::Dtype dtype, Role role, const char* label);
  // Raw bytes that are not a matrix (workspaces, masks).
  Tensor NewBytes(Bytes bytes, Role role, const char* label, Place place = Place::kGpu,
                  Stream stream = Stream::kCompute);
  Tensor View(const Tensor& tensor, Shape shape);          // same storage, same gradient
  Tensor DetachedView(const Tensor& tensor, Shape shape);  // same storage, a gradient of its own
  // As DetachedView, of a gradient: rule d applies to it.
  Tensor GradientView(const Tensor& gradient, Shape shape);
  Tensor Parameter(const Leaf& leaf);
  // A tensor that another segment made and that is still there; freed here with its last reference.
  Tensor Given(Slot slot, Shape shape, spec::Dtype dtype, bool requires_grad, Role role,
               const char* label);
  // A tensor that outlives everything recorded here (shared tables): never freed here.
  Tensor Borrowed(Shape shape, spec::Dtype dtype);
  // The same value without holding its storage: to name the root or the target of Backward.
  Tensor Ghost(const Tensor& tensor);
  // Hands the tensor over to other segments under `slot`; the tape forgets it.
  void Handover(Tensor tensor, Slot slot, Role role);
  // Emits the allocation or the end of bytes that are named by slot, outside any tensor.
  void AllocSlot(Slot slot, Bytes bytes, Role role, const char* label, Place place = Place::kGpu,
                 Stream stream = Stream::kCompute);
  void FreeSlot(Slot slot, Bytes bytes, Role role, const char* label, Place place = Place::kGpu,
                Stream stream = Stream::kCompute);

  // Autograd.
  bool grad_enabled() const { return grad_enabled_; }
  void set_grad_enabled(bool enabled) { grad_enabled_ = enabled; }
  // True when a gradient would flow into `tensor` through an operation recorded now.
  bool Wants(const Tensor& tensor) const {
    return grad_enabled_ && tensor.defined() && tensor.requires_grad();
  }
  // Adds a node for `output` if any input wants a gradient; otherwise nothing is saved.
  // `save` lists what autograd keeps (undefined entries are skipped).
  Node* Record(const char* label, BackwardFunction backward, std::initializer_list<Tensor> inputs,
               Tensor& output, std::initializer_list<Tensor> save = {},
               std::initializer_list<std::int64_t> numbers = {});
  void AddOutput(Node& node, Tensor& output);
  // Runs the nodes recorded since the last Backward in reverse, from the gradient of `root`.
  // The gradient that reaches `wrt` (a Given tensor) is returned; undefined if none does.
  Tensor Backward(const Tensor& root, Tensor gradient, const Tensor& wrt);
  // A further root of the Backward that follows: torch.autograd.backward takes several.
  void Seed(const Tensor& root, Tensor gradient);
  // backward(retain_graph=True): saved tensors outlive it.
  void set_retain_graph(bool retain) { retain_graph_ = retain; }

  // Selective checkpointing: outputs of attention and of every other matrix product that a forward
  // pass makes while they are kept are taken again, not made anew, when the block is recomputed
  // (torchtitan models/llama3/infra/parallelize.py _custom_policy).
  enum class Keeping : std::uint8_t { kOff, kKeep, kTake };
  void set_keeping(Keeping keeping);
  // What was kept of the operation that is about to run; undefined: it has to run.
  Tensor TakeKept(KernelClass kernel);
  void Keep(KernelClass kernel, const Tensor& output);

  // Autocast.
  // Low-precision dtype of the autocast region, or nullopt-like kFp32 when it is off.
  spec::Dtype autocast() const { return autocast_; }
  void set_autocast(spec::Dtype dtype) { autocast_ = dtype; }
  // The cached cast of a leaf (aten/src/ATen/autocast_mode.cpp, cached_cast): undefined if none.
  Tensor CachedCast(const Tensor& leaf) const;
  void CacheCast(const Tensor& leaf, const Tensor& cast);
  void DropCastCache();

  // Kernels and segments.
  void Run(KernelClass kernel, const char* label, Flops flops, Bytes moved,
           std::array<std::int64_t, 3> shape = {0, 0, 0}, Stream stream = Stream::kCompute);
  // The same with every field; its issuer is whoever is at work: Python, or Backward().
  void Run(const Operation& operation);
  // What runs from now on was run in forward already (activation checkpointing).
  void set_recomputing(bool recomputing) { recomputing_ = recomputing; }
  // Takes back what was recorded of the recomputation since the last tensor that autograd kept in
  // it: torch.utils.checkpoint without reentry stops there by an exception (_StopRecomputationError
  // in checkpoint.py, from torch 2.1 on). Everything made since must be gone.
  void StopRecomputingEarly();
  // Both directions are issued by Functions in Python.
  void set_python_functions() { issuer_ = Issuer::kFunctions; }
  // Exchanges `moved` bytes (counted as in Operation) within the group, on `stream`.
  void Exchange(Collective collective, Group group, const char* label, Bytes moved, Stream stream);
  // `stream` goes on when everything issued to `awaited` so far is done.
  void Wait(Stream stream, Stream awaited);
  // torch.cuda.empty_cache()
  void EmptyCache();
  // The host reads a result, and issues nothing more before `awaited` is done.
  void HostSync(Stream awaited = Stream::kCompute);
  // Ends a leaf; the events recorded since the previous cut become its own.
  void Cut();
  // The leaves, one for each Cut().
  std::vector<const Segment*> Finish(SegmentStore& store);

 private:
  friend class Tensor;
  friend class BackwardContext;

  struct Storage {
    Slot slot;
    Bytes bytes;
    Role role = Role::kTemporary;
    Place place = Place::kGpu;
    Stream stream = Stream::kCompute;
    std::int32_t references = 0;
    std::int32_t alloc_event = -1;  // index into events_; -1: allocated elsewhere
    bool borrowed = false;
    const char* label = "";
  };
  struct Value {
    std::int32_t storage = -1;
    std::int32_t leaf = -1;  // index into leaves_
    std::int32_t gradient_of =
        -1;  // the value whose gradient this one shares: itself, or a view's base
    Shape shape;
    spec::Dtype dtype = spec::Dtype::kBf16;
    bool requires_grad = false;
    bool is_view = false;
  };

  std::int32_t AddStorage(Storage storage);
  Tensor AddValue(std::int32_t storage, Shape shape, spec::Dtype dtype);
  void Retain(std::int32_t value) { ++storages_[ValueStorage(value)].references; }
  void Release(std::int32_t value);
  std::int32_t GradientOf(std::int32_t value) const {
    return values_[static_cast<std::size_t>(value)].gradient_of;
  }
  std::size_t ValueStorage(std::int32_t value) const {
    return static_cast<std::size_t>(values_[static_cast<std::size_t>(value)].storage);
  }
  void NoteKept(std::initializer_list<Tensor> kept, const Tensor& output);
  void AccumulateInto(std::int32_t value, Tensor gradient);
  void AccumulateLeaf(Leaf& leaf, Tensor gradient);
  void Issue(Operation operation);
  bool IsDear(KernelClass kernel);
  void RunNode(Node& node);
  void MoveStorage(Storage& storage, Slot slot, Role role);

  std::vector<Storage> storages_;
  std::vector<Value> values_;
  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;
  std::vector<Tensor> gradients_;                            // by value
  std::vector<std::pair<std::int32_t, Tensor>> cast_cache_;  // leaf value → cast
  std::vector<Tensor> kept_;
  std::size_t taken_ = 0;
  std::int64_t products_ = 0;  // matrix products since set_keeping
  Keeping keeping_ = Keeping::kOff;
  std::vector<Event> events_;
  std::vector<Operation> operations_;
  std::vector<std::pair<std::size_t, std::size_t>> cuts_;  // ends in events_, operations_
  std::int32_t next_slot_ = kActivationSlots;
  spec::Dtype autocast_ = spec::Dtype::kFp32;
  Issuer issuer_ = Issuer::kPython;
  bool recomputing_ = false;
  std::size_t last_kept_ = 0;  // of the recomputation: the event at which its last tensor was kept
  bool grad_enabled_ = true;
  bool retain_graph_ = false;
  bool closing_ = false;
};

class BackwardContext {
 public:
  BackwardContext(Tape& tape, Node& node) : tape_(tape), node_(node) {}

  Tape& tape() { return tape_; }
  // The gradient of the i-th output; undefined when nothing flowed into it.
  const Tensor& gradient(int i = 0) const { return gradients_[static_cast<std::size_t>(i)]; }
  const Tensor& saved(int i) const { return node_.saved[static_cast<std::size_t>(i)]; }
  std::int64_t number(int i) const { return node_.numbers[static_cast<std::size_t>(i)]; }
  const char* label() const { return node_.label; }
  bool Wants(int input) const;
  Shape InputShape(int input) const;
  spec::Dtype InputDtype(int input) const;
  // The gradient of the i-th input.
  void Give(int input, Tensor gradient) {
    given_[static_cast<std::size_t>(input)] = std::move(gradient);
  }

 private:
  friend class Tape;
  Tape& tape_;
  Node& node_;
  std::array<Tensor, Node::kMaxOutputs> gradients_;
  std::array<Tensor, Node::kMaxInputs> given_;
};

}  // namespace trainfit::program

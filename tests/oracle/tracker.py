"""Live bytes of a device whose tensors are fake: every storage from birth to death."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize: round_size().
BLOCK = 512


def rounded(size):
    return (size + BLOCK - 1) // BLOCK * BLOCK


class Tracker(TorchDispatchMode):
    """Counts storages on `device`; `window()` starts a new peak, `by_role` is what lived at it.

    A storage is counted from the operation that returns it until its last reference dies (its
    Python object is kept by the C++ one, so a weak reference fires exactly then). What a kernel
    allocates inside itself and frees before it returns is not seen here.
    """

    def __init__(self, device="cuda"):
        super().__init__()
        self.device = torch.device(device).type
        self.live = 0
        self.peak = 0
        self.sizes = {}  # id of the storage object -> (bytes, operation, number)
        self.born = 0
        self.refs = {}
        self.at_peak = {}
        self.peak_op = ""
        self.log = None
        self.in_backward = False

    def window(self):
        self.peak = self.live
        self.peak_op = "(start)"
        self.at_peak = dict(self.sizes)

    def _die(self, key):
        size = self.sizes.pop(key)[0]
        del self.refs[key]
        self.live -= size
        if self.log is not None:
            self.log.append(-size)

    def add(self, tensor, op):
        if tensor.device.type != self.device:
            return
        storage = tensor.untyped_storage()
        key = id(storage)
        if key in self.refs:
            return
        size = rounded(storage.nbytes())
        if size == 0:
            return
        self.refs[key] = weakref.ref(storage, lambda _, key=key: self._die(key))
        self.born += 1
        self.sizes[key] = (size, op, self.born)
        self.live += size
        if self.log is not None:
            self.log.append((size, op))
        if self.live > self.peak:
            self.peak = self.live
            self.peak_op = op
            self.at_peak = None  # taken lazily: below, once the operation is done

    def _positions(self, indices):
        """Indices with each mask as the positions it selects: all of them.

        CUDA's index makes them as well (aten/src/ATen/native/IndexingUtils.h expandTensors: nonzero),
        and frees them before it returns; so nothing of them is counted.
        """
        expanded = []
        for index in indices:
            if index is not None and index.dtype == torch.bool:
                where = torch.zeros(index.numel(), dtype=torch.int64, device=index.device)
                expanded += [where] * index.dim()
            else:
                expanded.append(index)
        return expanded

    def _sums_in_place(self, args):
        """Whether the engine would add this gradient to the other in place, were they not fake.

        torch/csrc/autograd/input_buffer.cpp, can_accumulate_inplace: nobody else holds the tensor or
        its storage; subclasses, and so fake tensors, are always added out of place. Here the call
        itself holds the tensor three times more, and its storage once.
        """
        a, b = args[0], args[1]
        if torch.is_grad_enabled() or not isinstance(b, torch.Tensor):
            return False  # a recomputed forward, or no sum of gradients
        return (a.shape == b.shape and a.dtype == b.dtype and a._use_count() == 4
                and torch._C._storage_Use_Count(a.untyped_storage()._cdata) == 2)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            # A value that Python asks for: every question of these programs is whether all tokens
            # are alike (no padding, one sequence a row, every label counts), and they are.
            return True if args[0].dtype == torch.bool else 1
        if func is torch.ops.aten.index.Tensor:
            args = (args[0], self._positions(args[1]), *args[2:])
        if self.in_backward and func is torch.ops.aten.add.Tensor and self._sums_in_place(args):
            func = torch.ops.aten.add_.Tensor
        out = func(*args, **(kwargs or {}))
        name = None
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                if name is None:
                    name = str(func)
                self.add(leaf, name)
        if self.at_peak is None:
            self.at_peak = dict(self.sizes)
        return out

    def numbers(self, tensors):
        """What tells the storages of these tensors from all others, also dead ones."""
        keys = (id(t.untyped_storage()) for t in tensors if t is not None)
        return {self.sizes[key][2] for key in keys if key in self.sizes}

    def at_peak_of(self, numbers):
        return sum(size for size, _, number in self.at_peak.values() if number in numbers)

    def largest_at_peak(self, count=8):
        """(operation, bytes, storages) at the peak, largest first."""
        groups = {}
        for size, op, _ in self.at_peak.values():
            total, number = groups.get(op, (0, 0))
            groups[op] = (total + size, number + 1)
        rows = sorted(groups.items(), key=lambda item: -item[1][0])
        return [[op, total, number] for op, (total, number) in rows[:count]]

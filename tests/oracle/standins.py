"""What fake tensors cannot run, replaced by what keeps and frees the same tensors."""

import contextlib


class _NoKernel:
    """A Triton kernel that is launched and does nothing: it allocates nothing either."""

    def __getitem__(self, grid):
        return lambda *args, **kwargs: None


def _apply(module, fn, recurse=True):
    """Module._apply with a new parameter in the place of the old one's new data.

    The real one swaps fake tensors, which a weak reference to their storage forbids.
    """
    import torch

    if recurse:
        for child in module.children():
            child._apply(fn)
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        with torch.no_grad():
            applied = fn(parameter)
        if applied is not parameter:
            module._parameters[name] = torch.nn.Parameter(applied, parameter.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = fn(buffer)
    return module


@contextlib.contextmanager
def installed():
    """TRL's kernels; and transformers must not think that it is being traced.

    SDPA keeps to the flash kernel, what every card since compute capability 8.0 can choose.
    """
    import torch
    import transformers.utils.import_utils as import_utils
    import trl.kernels.chunked_logprob as chunked

    saved = chunked._forward_kernel, chunked._backward_kernel, import_utils.is_fake_tensor
    chunked._forward_kernel = chunked._backward_kernel = _NoKernel()
    import_utils.is_fake_tensor = lambda tensor: False
    apply = torch.nn.Module._apply
    torch.nn.Module._apply = _apply
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        chunked._forward_kernel, chunked._backward_kernel, import_utils.is_fake_tensor = saved
        torch.nn.Module._apply = apply
        torch.backends.cuda.enable_cudnn_sdp(True)

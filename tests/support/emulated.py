"""A GPU that is none: tensors on it compute on the CPU but refuse to meet the CPU's, as a real one's do.

    with emulated_gpu() as gpu:
        task = make_world(device=GPU)

Every operation is looked at below autograd. It raises what PyTorch raises where tensors of two
devices meet (numbers, that is tensors without dimensions, and copies are free to), counts copies to
the host and other waits for the device in `gpu.waits`, and keeps the rest of the engine's GPU paths:
products instead of grouped convolutions, recorded steps (the recording is the call itself, and like a
graph it keeps nothing alive that it reads: see `ForgetfulRecorder`).
Arithmetic is the CPU's, so nothing is said about CUDA's kernels, their rounding or their speed.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from fedlib.engine import cuda_graphs
from fedlib.seeds import counter

GPU = torch.device("cuda:0")
_BETWEEN_DEVICES = (torch.ops.aten.copy_, torch.ops.aten._to_copy, torch.ops.aten._local_scalar_dense)
_BY_INDEX = (
    torch.ops.aten.index,
    torch.ops.aten.index_put,
    torch.ops.aten.index_put_,
    torch.ops.aten._index_put_impl_,
)


# Their results' shapes depend on values, which the host has to know
_BY_VALUES = tuple(
    getattr(torch.ops.aten, name)
    for name in ("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount")
)


class OnGpu(torch.Tensor):
    """A tensor on the emulated GPU around one on the CPU, `inner`."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device="cpu", requires_grad=False,
        )  # fmt: skip
        made.inner = inner
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)

    def __repr__(self):
        return f"OnGpu({self.inner})"

    def cpu(self):
        Emulation.waited("cpu")
        return self.inner.detach().clone()

    def to(self, *args, **kwargs):
        where = [a for a in (*args, *kwargs.values()) if isinstance(a, str | torch.device)]
        if any(torch.device(w).type == "cpu" for w in where):
            return self.cpu()
        rest = [a for a in args if not isinstance(a, str | torch.device)]
        kwargs = {n: v for n, v in kwargs.items() if n not in ("device", "non_blocking")}
        rest = [a for a in rest if isinstance(a, torch.dtype)]
        return super().to(*rest, **kwargs) if rest or kwargs else self

    def numpy(self):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")

    def __array__(self, *_, **__):
        return self.numpy()

    def tolist(self):
        return self.cpu().tolist()

    def __deepcopy__(self, memo):
        copied = OnGpu(self.inner.detach().clone())
        copied.requires_grad_(self.requires_grad)
        if isinstance(self, torch.nn.Parameter):
            copied = torch.nn.Parameter(copied, self.requires_grad)
        memo[id(self)] = copied
        return copied

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _call(function, args, kwargs or {})


class ForgetfulRecorder:
    """The call itself as the recording, holding on to nothing, as a CUDA graph does not.

    What a recorded step reads must be kept by others: a replay raises where the memory of a tensor
    that was made before the recording has been freed since.
    """

    def __init__(self, device=None):
        pass

    def __call__(self, warm_up, step):
        for _ in range(cuda_graphs.WARM_UP):
            warm_up()
        on_device = mock.patch.object(counter, "_on_host", return_value=False)  # as keys of a GPU are
        with on_device, _Read() as read:
            step()
        memory, kept = read.from_outside(), weakref.ref(step)

        def replay():
            assert not any(m.expired() for m in memory), "a recorded step reads memory that has been freed"
            kept()()

        return replay


class _Read(TorchDispatchMode):
    """Memory that operations read and did not make."""

    def __init__(self):
        super().__init__()
        self.read, self.made = {}, {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = [_memory(t) for t in _tensors((args, kwargs or {}))]
        self.read |= {m.cdata: m for m in given if m.cdata not in self.made}
        result = function(*args, **(kwargs or {}))
        found = [_memory(t) for t in _tensors(result)]
        self.made |= {m.cdata: m for m in found if m.cdata not in self.read}
        return result

    def from_outside(self):
        """Weak references; what was made inside is let go."""
        return [*self.read.values()]


def _memory(tensor):
    return StorageWeakRef(_inner(tensor).untyped_storage())


class Emulation(TorchDispatchMode):
    """What happened on the emulated GPU: waits, by the operation that waited."""

    running: "Emulation | None" = None

    def __init__(self):
        super().__init__()
        self.waits = []

    @staticmethod
    def waited(name):
        if Emulation.running is not None:
            Emulation.running.waits.append(name)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _call(function, args, kwargs or {})


def _call(function, args, kwargs):
    packet, wanted = function.overloadpacket, kwargs.get("device")
    tensors = [*_tensors((args, kwargs))]
    ours = [t for t in tensors if isinstance(t, OnGpu)]
    others = [t for t in tensors if not isinstance(t, OnGpu) and t.ndim > 0]
    if ours and others:
        _check_meeting(function, args)
    if packet is torch.ops.aten._local_scalar_dense and ours:
        Emulation.waited("item")
    if ours and (packet in _BY_VALUES or _is_masked(packet, args)):
        Emulation.waited(packet.__name__)
    if packet is torch.ops.aten._to_copy and others and wanted is not None and not kwargs.get("non_blocking"):
        Emulation.waited("to")
    kwargs = {n: torch.device("cpu") if n == "device" and v is not None else v for n, v in kwargs.items()}
    plain_args, plain_kwargs = _mapped(_inner, (args, kwargs))
    result = function(*plain_args, **plain_kwargs)
    if not (ours if wanted is None else torch.device(wanted).type == "cuda"):
        return result
    known = {id(t.inner): t for t in ours}  # an operation in place returns what it was given

    def wrap(value):
        return known[id(value)] if id(value) in known else OnGpu(value)

    return _mapped(lambda value: wrap(value) if type(value) is torch.Tensor else value, result)


def _is_masked(packet, args):
    """Whether an index is a mask, whose positions are counted first; one number is filled in without."""
    if packet not in _BY_INDEX or not any(t is not None and t.dtype == torch.bool for t in args[1]):
        return False
    return len(args) < 3 or args[2].numel() > 1


def _check_meeting(function, args):
    """What PyTorch says where tensors of both devices meet; an index may be the host's, and is waited for."""
    packet = function.overloadpacket
    if packet in _BETWEEN_DEVICES:
        Emulation.waited(packet.__name__)
        return
    beside = [t for t in _tensors((args[0], *args[2:])) if t.ndim > 0]
    if packet not in _BY_INDEX or not all(isinstance(t, OnGpu) for t in beside):
        raise RuntimeError(f"Expected all tensors to be on the same device: {function}")
    Emulation.waited("index")


def _tensors(value):
    """All tensors in an operation's arguments or result; PyTorch's own walk over them takes longer."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def _mapped(change, value):
    """The same with its tensors changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_mapped(change, part) for part in value])
    return value


def _inner(value):
    return value.inner if isinstance(value, OnGpu) else value


@contextmanager
def emulated_gpu() -> Iterator[Emulation]:
    """Tensors may be made on `GPU` here; `waits` of what it yields tells what a real one would wait for."""
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    cuda_graphs.forget_captures()
    with (
        mock.patch.object(torch.cuda, "_lazy_init"),
        mock.patch.object(torch.Tensor, "pin_memory", lambda self: self),
        mock.patch.object(torch, "tensor", _tensor(torch.tensor)),
        mock.patch.object(torch, "quantile", _quantile(torch.quantile)),
        mock.patch.object(torch.nn.functional, "one_hot", _one_hot),
        mock.patch.object(cuda_graphs, "CudaRecorder", ForgetfulRecorder),
        Emulation() as emulation,
    ):
        Emulation.running = emulation
        try:
            yield emulation
        finally:
            Emulation.running = None
            cuda_graphs.forget_captures()
            torch.__future__.set_overwrite_module_params_on_conversion(overwrite)


def _tensor(make):
    """`torch.tensor`, which fills its memory behind the back of any mode."""

    def tensor(*args, device=None, **kwargs):
        made = make(*args, **kwargs)
        return made if device is None else made.to(device)

    return tensor


def _quantile(compute):
    """`torch.quantile`, which makes its places below Python."""

    def quantile(values, levels, **kwargs):
        found = compute(_inner(values), _inner(levels), **kwargs)
        return OnGpu(found) if isinstance(values, OnGpu) else found

    return quantile


def _one_hot(index, classes):
    """`F.one_hot`, which asks for the kind of device below Python."""
    return (index.unsqueeze(-1) == torch.arange(classes, device=index.device)).long()


def on_host(value):
    """What a checkpoint that was written and read again gives: the same values, tensors on the CPU."""
    if isinstance(value, OnGpu):
        return value.inner.detach().clone()
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {name: on_host(part) for name, part in value.items()}
    return [on_host(part) for part in value] if isinstance(value, list) else value

"""Rounding errors of whole chains beside PyTorch's, on the same numbers, against float64.
Called by `make numerics` where `make peers` has installed PyTorch.

    torch_errors.py LIBUPCONV [CHAIN...]      without a chain: the five operators, one item each

An error is relative to the largest value of its (b, c) slice, as in docs/numerics.md.
"""
import ctypes
import os
import sys

sys.setdlopenflags(os.RTLD_LAZY)  # PyTorch's stand-ins for CUDA lack functions that nobody calls
import torch  # noqa: E402

CONV = "conv_transpose 64 kernel"
OPERATORS = {
    "conv-transpose3d-avgpool-clamp-softmax-multiply":
        f"f32 1x32x32x64x64, avgpool 2, {CONV} 3 stride 2 padding 1 output_padding 1, clamp 0 1, "
        "softmax_space, mul scale",
    "conv-transpose3d-max-max-sum":
        f"f32 1x32x32x32x32, {CONV} 5 stride 2 padding 2 bias, maxpool 2, maxpool 3, sum_channel",
    "conv-transpose3d-sum-layernorm-avgpool-gelu":
        f"f32 1x32x16x32x32, {CONV} 3 stride 2 padding 1 output_padding 1, add 1, "
        "layernorm_channel 1e-05, avgpool 2, gelu",
    "conv-transpose2d-softmax-biasadd-scaling-sigmoid":
        "f32 1x64x64x64, conv_transpose 128 kernel 4 stride 2 padding 1 output_padding 1 bias, "
        "softmax_channel, add add_bias, mul 2, sigmoid",
    "conv-transpose3d-layernorm-gelu-scaling":
        f"f32 1x32x16x32x32, {CONV} 4 stride 2 padding 1, layernorm_channel 1e-05, gelu, mul 1",
}
FAMILIES = {"normal": torch.randn, "uniform [0, 1)": torch.rand}


class Chain:
    """A chain's text as its input's shape, its operands and a function."""

    def __init__(self, text, make_input):
        head, *self.stages = [stage.split() for stage in text.split(",")]
        self.text, self.operands = text, []
        shape = [int(size) for size in head[1].split("x")]
        self.input = make_input(shape)
        channels = shape[1]
        for name, *words in self.stages:
            if name == "conv_transpose":
                taps = int(words[words.index("kernel") + 1])
                self.operands.append(
                    torch.randn(channels, int(words[0]), *[taps] * (len(shape) - 2)) / 16)
                channels = int(words[0])
                if "bias" in words:
                    self.operands.append(torch.randn(channels))
            elif name in ("add", "mul") and not is_number(words[0]):
                self.operands.append(torch.randn(channels))

    def by_torch(self, dtype):
        """PyTorch's result, in its arithmetic for this type."""
        f, x = torch.nn.functional, self.input.to(dtype)
        operands = iter([operand.to(dtype) for operand in self.operands])
        n = x.dim() - 2
        convolve = (f.conv_transpose2d, f.conv_transpose3d)[n - 2]
        pools = {"avgpool": (f.avg_pool2d, f.avg_pool3d)[n - 2],
                 "maxpool": (f.max_pool2d, f.max_pool3d)[n - 2]}
        for name, *words in self.stages:
            if name == "conv_transpose":
                options = {key: int(words[words.index(key) + 1])
                           for key in ("stride", "padding", "output_padding") if key in words}
                weight = next(operands)
                x = convolve(x, weight, next(operands) if "bias" in words else None, **options)
            elif name in pools:
                x = pools[name](x, int(words[0]))
            elif name in ("add", "mul"):
                value = (float(words[0]) if is_number(words[0])
                         else next(operands).view(1, -1, *[1] * n))
                x = x + value if name == "add" else x * value
            elif name == "clamp":
                x = x.clamp(float(words[0]), float(words[1]))
            elif name == "softmax_space":
                x = torch.softmax(x.flatten(2), 2).view_as(x)
            elif name == "softmax_channel":
                x = torch.softmax(x, 1)
            elif name == "layernorm_channel":
                x = f.layer_norm(x.movedim(1, -1), (x.shape[1],), eps=float(words[0])).movedim(-1, 1)
            elif name == "sum_channel":
                x = x.sum(1, keepdim=True)
            else:
                x = {"gelu": f.gelu, "sigmoid": torch.sigmoid}[name](x)
        return x

    def by_upconv(self, library, shape):
        chain, plan = ctypes.c_void_p(), ctypes.c_void_p()
        operands = (ctypes.c_void_p * len(self.operands))(*[o.data_ptr() for o in self.operands])
        self.expect(library, library.uc_chain_parse(self.text.encode(), ctypes.byref(chain)))
        self.expect(library, library.uc_plan_create(chain, operands, None, ctypes.byref(plan)))
        workspace = torch.empty(library.uc_plan_workspace_bytes(plan), dtype=torch.uint8)
        result = torch.empty(shape)
        self.expect(library, library.uc_plan_execute(
            plan, *[ctypes.c_void_p(t.data_ptr()) for t in (self.input, result, workspace)]))
        library.uc_plan_destroy(plan)
        library.uc_chain_destroy(chain)
        return result

    def expect(self, library, status):
        if status:
            sys.exit(f"torch_errors.py: {self.text}: {library.uc_last_error().decode()}")


def is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


def errors_of(result, reference):
    """Root mean square and largest error."""
    scale = reference.abs().amax(dim=tuple(range(2, reference.dim())), keepdim=True)
    error = (result.double() - reference) / scale
    return error.square().mean().sqrt().item(), error.abs().max().item()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
    library.uc_last_error.restype = ctypes.c_char_p
    library.uc_plan_workspace_bytes.restype = ctypes.c_size_t
    torch.manual_seed(1)
    print(f"\n### Beside PyTorch {torch.__version__.split('+')[0]}\n\n"
          "| whole operator | input | PyTorch rms | ours | ratio | PyTorch worst | ours | ratio |\n"
          "|---|---|---|---|---|---|---|---|")
    for name, text in ({text: text for text in sys.argv[2:]} or OPERATORS).items():
        for family, make_input in FAMILIES.items():
            chain = Chain(text, make_input)
            reference = chain.by_torch(torch.float64)
            theirs = errors_of(chain.by_torch(torch.float32), reference)
            ours = errors_of(chain.by_upconv(library, reference.shape), reference)
            print(f"| {name} | {family} | " + " | ".join(
                f"{a:.1e} | {b:.1e} | {b / a:.3f}" for a, b in zip(theirs, ours)) + " |", flush=True)


if __name__ == "__main__":
    main()

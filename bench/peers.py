"""Peers in Python: the five whole operators in PyTorch, ONNX Runtime or OpenVINO.
Started by bench through peer.c, whose protocol it speaks.

    peers.py torch|torch-compile|onnx|openvino

A line "SLUG batch_size=2 in_channels=32 ..." is answered with the seconds of one execution. The
model is made at the first question about it and runs twice before it is timed.
"""
import os
import sys
import time

import numpy as np

THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


def stages(slug, p):
    """An operator as a list of stages; each framework below knows how to do each of them."""
    conv = ("conv", p["in_channels"], p["out_channels"], p["kernel"], p["stride"], p["padding"],
            p["output_padding"])
    return {
        "conv-transpose3d-avgpool-clamp-softmax-multiply": [
            ("avgpool", p["pool_kernel"]), conv, ("clamp", p["clamp_min"], p["clamp_max"]),
            ("softmax_space",), ("mul_channel",)],
        "conv-transpose3d-max-max-sum": [
            conv + ("bias",), ("maxpool", 2), ("maxpool", 3), ("sum_channel",)],
        "conv-transpose3d-sum-layernorm-avgpool-gelu": [
            conv, ("add", p["sum_weight"]), ("layernorm",), ("avgpool", 2), ("gelu",)],
        "conv-transpose2d-softmax-biasadd-scaling-sigmoid": [
            conv + ("bias",), ("softmax_channel",), ("add_channel",), ("mul", p["scaling_factor"]),
            ("sigmoid",)],
        "conv-transpose3d-layernorm-gelu-scaling": [
            conv, ("layernorm",), ("gelu",), ("mul", p["scaling_factor"])],
    }[slug]


def tensors(p):
    """The input, and a function that makes operands: the same numbers for every framework."""
    random = np.random.default_rng(1)
    space = [p[size] for size in ("depth", "height", "width") if p[size]]
    shape = (p["batch_size"], p["in_channels"], *space)

    def make(*dims, scale=1.0):
        return ((random.random(dims, dtype=np.float32) * 2 - 1) * scale).astype(np.float32)

    return make(*shape), len(space), make


# ---- PyTorch -------------------------------------------------------------------------------


def torch_functions(slug, p, torch):
    """Each stage as a function of a tensor."""
    f = torch.nn.functional
    _, n, make = tensors(p)
    conv_transpose = (f.conv_transpose2d, f.conv_transpose3d)[n - 2]
    done = []
    for name, *args in stages(slug, p):
        if name == "conv":
            cin, cout, kernel, stride, padding, extra = args[:6]
            weight = torch.from_numpy(make(cin, cout, *[kernel] * n, scale=(cin * kernel) ** -0.5))
            bias = torch.from_numpy(make(cout)) if args[6:] else None
            done.append(lambda x, w=weight, b=bias, s=stride, q=padding, e=extra: conv_transpose(
                x, w, b, s, q, e))
        elif name in ("mul_channel", "add_channel"):
            each = torch.from_numpy(make(p["out_channels"], *[1] * n))
            done.append((lambda x, c=each: x * c) if name[0] == "m" else lambda x, c=each: x + c)
        else:
            done.append({
                "avgpool": lambda x, a=args: f.avg_pool3d(x, a[0]),
                "maxpool": lambda x, a=args: f.max_pool3d(x, a[0]),
                "clamp": lambda x, a=args: torch.clamp(x, a[0], a[1]),
                "softmax_space": lambda x: f.softmax(x.flatten(2), 2).view(x.shape),
                "softmax_channel": lambda x: f.softmax(x, 1),
                "sum_channel": lambda x: x.sum(1, keepdim=True),
                "layernorm": lambda x: f.layer_norm(x.movedim(1, -1), x.shape[1:2]).movedim(-1, 1),
                "add": lambda x, a=args: x + a[0],
                "mul": lambda x, a=args: x * a[0],
                "gelu": f.gelu,
                "sigmoid": torch.sigmoid,
            }[name])
    return done


def torch_peer(compiled):
    # CUDA's libraries may be mere stand-ins (peers.sh): no symbol of theirs is to be looked up.
    sys.setdlopenflags(os.RTLD_LAZY)
    import torch

    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)

    def load(slug, p):
        functions = torch_functions(slug, p, torch)

        def model(x):
            for function in functions:
                x = function(x)
            return x

        x = torch.from_numpy(tensors(p)[0])
        run = torch.compile(model) if compiled else model
        return lambda: run(x)

    version = torch.__version__.split("+")[0]
    return f"PyTorch {version} {'compiled' if compiled else 'eager'}", load


# ---- ONNX: for ONNX Runtime and OpenVINO ----------------------------------------------------


def onnx_model(slug, p):
    from onnx import helper, numpy_helper

    x, n, make = tensors(p)
    nodes, constants = [], []
    last = "x"

    def constant(value):
        constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(constants)}"))
        return constants[-1].name

    def node(op, *inputs, **attributes):
        nonlocal last
        name = f"t{len(nodes)}"
        nodes.append(helper.make_node(op, [last, *inputs], [name], **attributes))
        last = name

    for name, *args in stages(slug, p):
        if name == "conv":
            cin, cout, kernel, stride, padding, extra = args[:6]
            weight = constant(make(cin, cout, *[kernel] * n, scale=(cin * kernel) ** -0.5))
            bias = [constant(make(cout))] if args[6:] else []
            node("ConvTranspose", weight, *bias, strides=[stride] * n, pads=[padding] * 2 * n,
                 output_padding=[extra] * n)
        elif name in ("avgpool", "maxpool"):
            node("AveragePool" if name[0] == "a" else "MaxPool", kernel_shape=[args[0]] * n,
                 strides=[args[0]] * n)
        elif name in ("add", "mul"):
            node(name.capitalize(), constant(np.float32(args[0])))
        elif name in ("add_channel", "mul_channel"):
            node(name[:3].capitalize(), constant(make(p["out_channels"], *[1] * n)))
        elif name == "clamp":
            node("Clip", constant(np.float32(args[0])), constant(np.float32(args[1])))
        elif name == "softmax_channel":
            node("Softmax", axis=1)
        elif name == "softmax_space":
            # The convolution doubles each dimension of the pooled input.
            sizes = [p[size] // p["pool_kernel"] * 2 for size in ("depth", "height", "width")]
            node("Reshape", constant(np.array([0, 0, -1], dtype=np.int64)))
            node("Softmax", axis=2)
            node("Reshape", constant(np.array([0, 0, *sizes], dtype=np.int64)))
        elif name == "sum_channel":
            node("ReduceSum", constant(np.array([1], dtype=np.int64)), keepdims=1)
        elif name == "layernorm":
            node("Transpose", perm=[0, *range(2, n + 2), 1])
            node("LayerNormalization", constant(np.ones(p["out_channels"], dtype=np.float32)),
                 axis=-1, epsilon=1e-5)
            node("Transpose", perm=[0, n + 1, *range(1, n + 1)])
        else:
            node(name.capitalize())  # Gelu, Sigmoid
    graph = helper.make_graph(
        nodes, "operator", [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info(last, 1, [None] * (n + 2))], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return model.SerializeToString(), x


def onnx_peer():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS

    def load(slug, p):
        model, x = onnx_model(slug, p)
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": x})

    return f"ONNX Runtime {onnxruntime.__version__}", load


def openvino_peer():
    import openvino

    core = openvino.Core()

    def load(slug, p):
        model, x = onnx_model(slug, p)
        compiled = core.compile_model(core.read_model(model), "CPU", {
            "INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        tensor = openvino.Tensor(x, shared_memory=True)
        request.set_input_tensor(tensor)
        return lambda keep=(x, tensor): request.infer()

    return f"OpenVINO {openvino.__version__.split('-')[0]}", load


# ---- The protocol ----------------------------------------------------------------------------


def main():
    peers = {"torch": lambda: torch_peer(False), "torch-compile": lambda: torch_peer(True),
             "onnx": onnx_peer, "openvino": openvino_peer}
    # What libraries print must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        name, load = peers[sys.argv[1]]()
    except Exception as error:
        print("failed:", repr(error)[:120], file=answers)
        return 1
    print("whole", name, file=answers)
    models = {}
    for line in sys.stdin:
        slug, *words = line.split()
        try:
            if line not in models:
                values = (word.split("=") for word in words)
                models[line] = load(slug, {k: float(v) if "." in v else int(v) for k, v in values})
                models[line]()
                models[line]()
            start = time.perf_counter()
            models[line]()
            print(f"{time.perf_counter() - start:.9f}", file=answers)
        except Exception as error:
            print("failed:", " ".join(repr(error).split())[:120], file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())

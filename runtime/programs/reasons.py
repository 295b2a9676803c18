"""Why names of PyTorch's are not here, by module: sentences that end an error, and rows of docs/torch.md."""

from __future__ import annotations

Table = dict[str, dict[str, str]]
"""Module, reason, names."""

SCRIPT = "there is no TorchScript and none of its types; functions and modules run as they are"
DEVICE = "there is the processor alone, and no device of this kind"
SPARSE = "sparse tensors have coordinates or rows, and products of matrices; to_dense() has the rest"
QUANTISED = "there are no tensors of quantised elements"
INNER = "a function of PyTorch's inner libraries; use the one of nn.functional"
HALF = "there are no elements of this kind; float16, bfloat16, float32, float64 and whole numbers are there"
SHAPES = "sizes are Python's ints and never symbols"
EXPORT = "programs are not exported to files for other runtimes; pullback.build makes an extension module of a function"
MANY = "there is one process; collectives of one are there, others need another package"
MASKED = "tensors have no mask of their own; the functions of pullback.masked take one beside a tensor, as mask="
FETCHED = "nothing is fetched from the net or run from there; load a state_dict from a file"
PROCESSES = "tensors are not shared with other processes; threads share them, and pickles copy them"
INSIDE = "it belongs to PyTorch's own machinery"
GRAPHS = "programs are not rewritten as graphs of Python objects; f.ir() shows ours as text, which pullback.parse reads"
STORED = "files are read and written by pullback.load and pullback.save, and memory is no object of its own"
MEASURED = "nothing is measured: operations share kernels; pullback.explain() says what is compiled"

CALLED: Table = {
    "torch.onnx": {EXPORT: "export ExportableModule InputObserver ONNXProgram OnnxExporterError"},
    "torch.hub": {
        FETCHED: "download_url_to_file get_dir help list load load_state_dict_from_url set_dir",
    },
    "torch.distributed": {
        MANY: """
            DeviceMesh FileStore HashStore P2POp PrefixStore Store TCPStore all_gather_coalesced all_gather_single
            all_reduce_coalesced all_to_all all_to_all_single batch_isend_irecv init_device_mesh irecv isend
            new_subgroups new_subgroups_by_enumeration recv recv_object_list reduce_scatter_single rendezvous
            scatter_object_list send send_object_list shrink_group split_group""",
    },
    "torch.fx": {
        GRAPHS: """
            Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg replace_pattern
            symbolic_trace""",
    },
    "torch.masked": {MASKED: "MaskedTensor as_masked_tensor masked_tensor"},
    "torch.multiprocessing": {PROCESSES: "spawn start_processes"},
    "torch": {
        SHAPES: "SymBool SymFloat SymInt", DEVICE: "Event Stream", QUANTISED: "_scaled_mm", INSIDE: "_grouped_mm",
        STORED: "PyTorchFileReader PyTorchFileWriter StorageBase from_file",
    },
    "torch.cuda": {DEVICE: "CUDAGraph Event ExternalStream MemPool Stream StreamContext default_stream graph stream"},
    "torch.nn.functional": {QUANTISED: "ScalingType SwizzleType scaled_mm", INSIDE: "grouped_mm"},
    "torch.serialization": {STORED: "get_unsafe_globals_in_checkpoint"},
}

PATTERNS: list[tuple[str, str, str]] = [
    ("torch(.cuda|.mps|.accelerator|.backends)", ".*", DEVICE),
    ("torch.profiler|torch.autograd.profiler", ".*", MEASURED),
    ("torch.sparse", ".*", SPARSE),
    ("torch.jit", ".*", SCRIPT),
    ("torch.distributed", ".*", MANY),
    ("torch.onnx", ".*", EXPORT),
    ("torch.nn", "CrossMapLRN2d", "PyTorch's keeps the first channel in all later sums; use nn.LocalResponseNorm"),
    ("torch.nn", "intrinsic|qat|quant.*", QUANTISED),
    ("torch.distributions", ".*", "this family is not written yet; the others are in pullback.distributions"),
    ("torch.utils.data", ".*[dD]ata[pP]ipe.*|DataChunk|.*validation.*|.*determinis.*", "PyTorch gave data pipes up"),
    ("torch|torch.Tensor", "sym_.*|Sym.*", SHAPES),
    (
        "torch|torch.Tensor", "(?i).*sparse.*|.*_indices.*|indices|values(_copy)?|is_coalesced|coalesce|hsmm|s?spaddmm"
        "|saddmm|smm|hspmm|dsmm|spmm", SPARSE,
    ),
    ("torch|torch.Tensor", "(?i).*quant.*|q_.*|q?u?int.*|qint.*|qscheme|fbgemm.*|per_.*|.*observ.*", QUANTISED),
    ("torch|torch.Tensor", "bit.*|chalf|complex32|float[48].*", HALF),
    ("torch|torch.Tensor", "(Half|BFloat16)Storage|(ComplexFloat|ComplexDouble).*", HALF),
    ("torch|torch.Tensor", "is_(ipu|maia|mtia|vulkan|xpu|mkldnn)|(ipu|mtia|xpu|to_mkldnn|record_stream)", DEVICE),
    ("torch|torch.Tensor", "(?i)cudnn.*|miopen.*|mkldnn.*|.*vulkan.*|.*stream.*|event|.*autocast.*", DEVICE),
    (
        "torch|torch.Tensor", "(eig|lstsq|matrix_rank|solve|symeig|volatile|resize|resize_as|reinforce)",
        "PyTorch gave this name up; linalg and detach have its work",
    ),
    ("torch|torch.Tensor", ".*[sS]torage.*|share_memory_|pin_memory", "memory is no object of its own here"),
    (
        "torch", "batch_norm.*|.*_norm|embedding.*|.*_loss|grid_sampler.*|(gru|lstm|rnn).*|.*dropout_?|kl_div"
        "|conv.*|constant_pad_nd|affine.*|binary_cross.*|native.*|max_pool.*|(celu|rrelu|selu|threshold)_", INNER,
    ),
    ("torch", ".*Type|Script.*|.*Module.*|Graph.*|.*parse.*|.*ir_module.*|CompilationUnit|Node|Block|Value", SCRIPT),
    ("torch", "export|package|mobile", EXPORT),
    ("torch.library", ".*", INSIDE),
    ("torch.multiprocessing", ".*", PROCESSES),
    ("torch.fx", ".*", GRAPHS),
    ("torch.serialization", ".*", "files are read and written by pullback.load and pullback.save"),
    ("torch.linalg|torch.special", ".*", "this function is not written yet"),
]
"""Module and name, as patterns, and the reason; the first that fits counts."""

"""Why names of PyTorch's are not here, by module: sentences that end an error, and rows of docs/torch.md."""

from __future__ import annotations

Table = dict[str, dict[str, str]]
"""Module, reason, names."""

SCRIPT = "there is no TorchScript and none of its types; functions and modules run as they are"
DEVICE = "there is the processor alone, and no device of this kind"
SPARSE = "tensors are dense; scatter_add, embedding and index_add have sparse work's results"
QUANTISED = "there are no tensors of quantised elements"
INNER = "a function of PyTorch's inner libraries; use the one of nn.functional"
HALF = "there are no elements of this kind; float32, float64 and whole numbers up to int64 are there"
SHAPES = "sizes are Python's ints and never symbols"
EXPORT = "programs are not exported to files for other runtimes; pullback.build makes an extension module of a function"
MANY = "there is one process; collectives of one are there, others need another package"
FETCHED = "nothing is fetched from the net or run from there; load a state_dict from a safetensors file"
PROCESSES = "tensors are not shared with other processes; threads share them, and pickles copy them"
INSIDE = "it belongs to PyTorch's own machinery"
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
    "torch": {},
}

ABSENT: Table = {}

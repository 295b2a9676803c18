"""Where each public name is written, and what submodules of the face load first of all."""

NAMES_OF = {
    "compiler.frontend.numpy.convolutions": "conv",
    "pullback": "accelerator amp array_api autograd backends compiler cpu cuda distributed distributions fft func fx"
    " futures hub library linalg masked mps multiprocessing nn onnx optim overrides profiler quasirandom random scipy"
    " serialization signal sparse special storage testing types utils version xpu",
    "compiler.backend.extension.carried": "KernelError",
    "compiler.ir.text": "ParseError",
    "runtime.check": "check",
    "runtime.compiled.build": "build",
    "runtime.external": "external",
    "runtime.implicit": "implicit",
    "runtime.operators.registry": "ops",
    "runtime.operators.tags": "Tag",
    "runtime.inspect.loaded": "load_kernel",
    "runtime.inspect.parsed": "parse",
    "runtime.interop.jax_calls": "to_jax",
    "runtime.interop.torch_calls": "to_torch",
    "runtime.rules": "custom_formula custom_jvp custom_vjp stop_gradient",
    "runtime.branches": "cond switch",
    "runtime.control": "checkpoint fori_loop scan while_loop",
    "runtime.devices.precision": "autocast is_autocast_enabled",
    "runtime.devices.scaling": "GradScaler",
    "runtime.devices.switches": "are_deterministic_algorithms_enabled get_default_device"
    " get_deterministic_debug_mode get_num_interop_threads is_warn_always_enabled"
    " set_deterministic_debug_mode set_flush_denormal set_num_interop_threads set_warn_always"
    " get_float32_matmul_precision is_deterministic_algorithms_warn_only_enabled set_default_device"
    " set_default_tensor_type set_float32_matmul_precision use_deterministic_algorithms",
    "runtime.nn.optimized": "compile",
    "runtime.tensor.value.dtypes": "Size bfloat16 bool_ chalf complex32 device float16 float32 float64"
    " float8_e4m3fn float8_e5m2 get_default_dtype half int32 int64"
    " float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 qint8 quint8 qint32 quint4x2 quint2x4"
    " int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7",
    "runtime.tensor.face.functions": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor"
    " memory_format"
    " Generator HalfTensor IntTensor LongTensor ShortTensor Tensor abs absolute acos acosh add addbmm"
    " addcdiv addcmul addmm addmv addr alias_copy all allclose amax amin aminmax"
    " any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax"
    " argmin argsort argwhere as_strided as_strided_copy as_strided_scatter"
    " as_tensor asarray asin asinh atan atan2 atanh atleast_1d atleast_2d"
    " atleast_3d baddbmm bernoulli bincount binomial bitwise_and"
    " bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor"
    " block_diag bmm bool broadcast_shapes broadcast_tensors broadcast_to"
    " bucketize can_cast cartesian_prod cat cdist ceil chain_matmul channels_last chunk clamp"
    " clamp_max clamp_min clip clone column_stack combinations concat concatenate"
    " contiguous_format conv1d conv2d copysign corrcoef cos cosh count_nonzero cov"
    " cummax cummin cumprod cumsum cumulative_trapezoid default_generator deg2rad"
    " detach detach_ diag diag_embed diagflat diagonal diagonal_copy"
    " diagonal_scatter diff dist div divide dot double dsplit dstack dtype e"
    " einsum empty empty_like empty_permuted empty_strided eq equal erf exp exp2"
    " expand_copy expm1 eye fill finfo fix flatten flip fliplr flipud float"
    " float_power floor floor_divide fmax fmin fmod frac frexp from_dlpack"
    " from_numpy frombuffer full full_like gather gcd ge ger get_device"
    " get_rng_state gradient greater greater_equal gt heaviside histc histogram"
    " histogramdd hsplit hstack hypot iinfo index_add index_copy index_fill"
    " index_put index_reduce index_select inf initial_seed inner int int16 int8"
    " is_complex is_conj is_floating_point is_inference is_neg is_nonzero"
    " is_same_size is_signed is_tensor isclose isfinite isin isinf isnan isneginf"
    " isposinf isreal kron kthvalue layout lcm ldexp le lerp less less_equal"
    " linspace log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp"
    " logical_and logical_not logical_or logical_xor logspace logsumexp long lt"
    " manual_seed masked_fill masked_scatter masked_select matmul max maximum mean"
    " median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial"
    " multiply mv nan nan_to_num nanmean nanmedian nanquantile nansum narrow"
    " narrow_copy ne neg negative newaxis nextafter nonzero nonzero_static norm"
    " normal not_equal numel ones ones_like outer permute permute_copy pi poisson"
    " positive pow preserve_format prod promote_types put quantile rad2deg rand"
    " rand_like randint randint_like randn randn_like randperm range"
    " reciprocal relu remainder renorm repeat_interleave reshape resize_as_"
    " result_type roll rot90 round row_stack rsqrt rsub scalar_tensor scatter"
    " scatter_add scatter_reduce searchsorted seed select select_copy"
    " select_scatter set_default_dtype set_printoptions set_rng_state sgn short"
    " sigmoid sign signbit sin sinh slice_copy slice_scatter softmax sort split"
    " split_copy split_with_sizes split_with_sizes_copy sqrt square squeeze"
    " squeeze_copy stack std std_mean strided sub subtract sum swapaxes swapdims t"
    " t_copy take take_along_dim tan tanh tensor tensor_split tensordot tile topk"
    " transpose transpose_copy trapezoid trapz tril tril_indices triu triu_indices"
    " true_divide trunc typename uint16 uint32 uint64 uint8 unbind unbind_copy unflatten unfold_copy"
    " unique unique_consecutive unravel_index unsafe_chunk unsafe_split"
    " unsafe_split_with_sizes unsqueeze unsqueeze_copy vander var var_mean vdot"
    " view_copy vsplit vstack where zeros zeros_like",
    "runtime.tensor.face.in_place_names": "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_"
    " arctan_ arctanh_"
    " asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_"
    " cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_"
    " index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_"
    " negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_"
    " sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_",
    "runtime.nn.functional": "adaptive_avg_pool1d avg_pool1d bilinear"
    " celu channel_shuffle conv3d conv_transpose1d conv_transpose2d"
    " conv_transpose3d cosine_similarity"
    " hardshrink max_pool1d max_pool2d max_pool3d pairwise_distance"
    " pdist pixel_shuffle pixel_unshuffle prelu rms_norm rrelu selu threshold",
    "runtime.tensor.reverse.anomaly": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
    "runtime.tensor.reverse.modes": "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad"
    " set_grad_enabled",
    "runtime.tensor.trace.plans": "explain",
    "runtime.tensor.face.complex_functions": "adjoint angle cdouble cfloat complex complex64 complex128 conj"
    " conj_physical imag polar real resolve_conj resolve_neg view_as_complex view_as_real",
    "runtime.tensor.face.older_names": "bartlett_window blackman_window cholesky cholesky_inverse cholesky_solve"
    " cross det geqrf hamming_window hann_window inverse istft kaiser_window"
    " logdet lu lu_solve lu_unpack matrix_exp matrix_power orgqr ormqr pca_lowrank"
    " pinverse qr slogdet stft svd svd_lowrank trace triangular_solve",
    "runtime.tensor.face.special_functions": "digamma erfc erfinv i0 igamma igammac lgamma logit"
    " mvlgamma polygamma sinc"
    " xlogy",
    "runtime.derivatives.jacobians": "hessian jacfwd jacobian jacrev wirtinger",
    "runtime.derivatives.linear": "linear_transpose linearize",
    "runtime.derivatives.products": "gnvp hvp jvp vjp",
    "runtime.derivatives.series": "jet taylor",
    "runtime.derivatives.trees": "ravel tree_flatten tree_map tree_unflatten",
    "compiler.ir.containers": "register",
    "runtime.symbolic.lambdified": "lambdify",
    "runtime.symbolic.mechanics": "equations_of_motion",
    "runtime.symbolic.precision": "precision",
    "runtime.symbolic.primitive": "primitive",
    "runtime.compiled.threads": "get_num_threads set_num_threads",
    "runtime.sparse.operations": "spmm",
    "runtime.sparse.tensors": "sparse_coo sparse_coo_tensor sparse_csr sparse_csr_tensor",
    "runtime.programs.native": "adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_ batch_norm"
    " binary_cross_entropy_with_logits celu_ constant_pad_nd convolution cosine_embedding_loss ctc_loss dropout"
    " dropout_ embedding fake_quantize_per_channel_affine fake_quantize_per_tensor_affine feature_alpha_dropout"
    " feature_alpha_dropout_ feature_dropout feature_dropout_ frobenius_norm grid_sampler grid_sampler_2d"
    " grid_sampler_3d group_norm"
    " hinge_embedding_loss instance_norm layer_norm kl_div margin_ranking_loss nuclear_norm poisson_nll_loss rrelu_"
    " selu_ threshold_ triplet_margin_loss",
    "runtime.programs.scripting": "jit",
    "runtime.programs.inside.arrays": "segment_reduce",
    "runtime.programs.inside.layers": "conv_tbc embedding_renorm_ gru gru_cell lstm lstm_cell max_pool1d_with_indices"
    " native_batch_norm native_channel_shuffle native_group_norm native_layer_norm rnn_relu rnn_relu_cell rnn_tanh"
    " rnn_tanh_cell",
    "runtime.programs.inside.scripts": "ScriptFunction ScriptModule classes",
    "runtime.programs.inside.futures": "Future",
    "runtime.programs.inside.settled": "AcceleratorError OutOfMemoryError get_autocast_cpu_dtype get_autocast_dtype"
    " get_autocast_gpu_dtype get_device_module is_autocast_cpu_enabled",
    "runtime.programs.inside.sizes": "sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt"
    " sym_sum",
    "runtime.tensor.face.storages": "TypedStorage UntypedStorage is_storage",
    "runtime.programs.standing_in": "as_torch",
    "runtime.transforms": "grad value_and_grad",
    "runtime.utils.files": "load save",
    "runtime.vmap": "vmap",
}

PREFIXES = {"_assert_async": "runtime.programs.inside.checking", "_check": "runtime.programs.inside.checking",
            "_convert_indices": "runtime.programs.inside.arrays", "_segment_reduce": "runtime.programs.inside.arrays",
            "_shape_as_tensor": "runtime.programs.inside.arrays",
            "_softmax_backward_data": "runtime.programs.inside.arrays",
            "_foreach_": "runtime.tensor.face.lists", "_standard_gamma": "runtime.programs.inner", "_C": "pullback",
            "_VF": "pullback", "_dynamo": "pullback", "__config__": "pullback", "_utils": "pullback",
            "_assert": "runtime.programs.reached"}
"""Where names of PyTorch's that are not public stand, by how they begin."""

PARTS = {
    "_accelerator": "runtime.devices.accelerators",
    "_amp": "runtime.devices.precision runtime.programs.refused",
    "_array_api": "runtime.array_api.arranging runtime.array_api.creation runtime.array_api.elements"
    " runtime.array_api.matrices runtime.array_api.transforms",
    "_autograd": "runtime.tensor.reverse.custom runtime.tensor.transforms.forward"
    " runtime.tensor.transforms.functional runtime.tensor.transforms.gradcheck"
    " runtime.tensor.reverse.once runtime.programs.profiling runtime.programs.refused"
    " runtime.programs.tuples",
    "_backends": "runtime.devices.accelerators runtime.devices.switches",
    "_cpu": "runtime.devices.accelerators",
    "_cuda": "runtime.devices.accelerators runtime.devices.precision runtime.programs.inside.settled"
    " runtime.programs.refused",
    "_distributed": "runtime.programs.distributed runtime.programs.refused",
    "_distributions": "runtime.distributions runtime.programs.refused",
    "_fft": "runtime.tensor.face.fourier_functions",
    "_func": "runtime.tensor.transforms.batched runtime.tensor.transforms.func"
    " runtime.tensor.transforms.jacobians runtime.tensor.transforms.stateless",
    "_futures": "runtime.programs.inside.futures",
    "_fx": "runtime.programs.inner runtime.programs.refused",
    "_hub": "runtime.programs.inner runtime.programs.refused",
    "_jit": "runtime.programs.scripting",
    "_library": "runtime.operators.checking runtime.operators.custom runtime.operators.inferring"
    " runtime.operators.library runtime.programs.refused",
    "_linalg": "runtime.tensor.face.linalg_functions",
    "_masked": "runtime.tensor.face.masked_functions runtime.programs.refused",
    "_mps": "runtime.devices.accelerators",
    "_multiprocessing": "runtime.programs.processes runtime.programs.refused",
    "_nn": "runtime.nn runtime.nn.clip runtime.nn.convolution_gradients runtime.nn.fusion runtime.nn.older_norms"
    " runtime.nn.orthogonal runtime.nn.pruning runtime.nn.reparametrized runtime.nn.tuples runtime.nn.vectors"
    " runtime.programs.kernels runtime.programs.reached runtime.programs.refused"
    " runtime.tensor.transforms.stateless",
    "_onnx": "runtime.programs.refused runtime.devices.accelerators",
    "_optim": "runtime.optim runtime.optim.inner runtime.optim.lr_scheduler runtime.optim.swa_utils"
    " runtime.programs.refused",
    "_overrides": "runtime.programs.function_modes runtime.programs.overrides runtime.programs.refused",
    "_profiler": "runtime.programs.profiling runtime.programs.refused",
    "_quasirandom": "runtime.programs.quasirandom",
    "_random": "runtime.tensor.ops.random.generators",
    "_scipy": "runtime.interop.scipy_solvers",
    "_sparse": "runtime.sparse.classes runtime.sparse.functions runtime.sparse.operations runtime.sparse.tensors"
    " runtime.programs.refused",
    "_serialization": "runtime.programs.refused runtime.utils.files runtime.utils.safe_globals",
    "_signal": "runtime.tensor.ops.windows.tapers",
    "_special": "runtime.tensor.face.special_functions",
    "_storage": "runtime.tensor.face.storages",
    "_testing": "runtime.programs.comparing runtime.programs.made runtime.programs.refused",
    "_types": "runtime.programs.aliases",
    "_of_utils": "runtime.programs.pytrees runtime.programs.inside.keyed_trees runtime.programs.inside.weak"
    " runtime.utils.checkpoint runtime.utils.collate runtime.utils.data"
    " runtime.utils.loader",
    "_version": "runtime.programs.version",
    "_xpu": "runtime.devices.accelerators",
}

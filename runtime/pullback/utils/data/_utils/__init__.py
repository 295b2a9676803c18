"""What loaders use, under the paths of PyTorch's files."""

from pullback.utils.data._utils import collate as collate

"""torchmetrics: metrics of classes, numbers and pictures, summed over batches."""

import torch
import torchmetrics
from torchmetrics.classification import BinaryAUROC, MulticlassAccuracy, MulticlassConfusionMatrix, MulticlassF1Score
from torchmetrics.functional import pearson_corrcoef
from torchmetrics.regression import MeanSquaredError, R2Score

torch.manual_seed(0)
metrics = [kind(num_classes=3) for kind in (MulticlassAccuracy, MulticlassF1Score, MulticlassConfusionMatrix)]
for _ in range(3):
    scores, target = torch.randn(20, 3), torch.randint(3, (20,))
    for metric in metrics:
        metric.update(scores, target)
print([m.compute().tolist() for m in metrics])
area, error, share = BinaryAUROC(), MeanSquaredError(), R2Score()
for _ in range(3):
    x, y = torch.rand(30), torch.rand(30)
    area.update(x, (y > 0.5).int())
    error.update(x, y)
    share.update(x, y)
print(area.compute().item(), error.compute().item(), share.compute().item(), pearson_corrcoef(x, y).item())
mean = torchmetrics.MeanMetric()
mean.update(x)
print(mean.compute().item())

"""x-transformers: a decoder trained to continue sequences."""

import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
model = TransformerWrapper(
    num_tokens=16, max_seq_len=12, attn_layers=Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
tokens = torch.randint(0, 16, (4, 13))
for _ in range(5):
    optimizer.zero_grad()
    logits = model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
    loss.backward()
    optimizer.step()
    print(loss.item())

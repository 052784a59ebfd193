"""Make a model, and look at the attention of every layer.

A forward pass hands back what happened inside of it by name; there are no hooks to place.
"""

import torch

import headgrid

model = headgrid.create("quadratic", size="tiny").eval()
images = torch.randn(2, 3, 32, 32)

with torch.no_grad():
    logits, attention = model(images, record=True)

print("logits", tuple(logits.shape))
for name, output in attention.items():
    # (image, head, query row, query column, key row, key column)
    print(name, tuple(output.weights.shape))

# Each query pixel spreads a weight of one over all pixels of the image.
first = next(iter(attention.values())).weights
print("weights of a query pixel sum to", first[0, 0, 3, 3].sum().item())

# Where does the first head of the first layer look from the pixel (row 3, column 3)?
row, column = divmod(first[0, 0, 3, 3].argmax().item(), first.shape[-1])
center = model.get_submodule("stack.blocks.0.attention").score.terms[0].centers[0]
print(f"at ({row}, {column}); its centre is {center[0]:+.1f} rows and {center[1]:+.1f} columns away")

"""What a vision transformer computes with the entries of timm's state dicts, written out by hand."""

import torch
import torch.nn.functional as F


def random_state(
    dim=12,
    depth=2,
    hidden=20,
    patch=4,
    grid=(3, 3),
    num_classes=5,
    channels=3,
    class_token=True,
    class_position=True,
    qkv_bias=True,
    norm="norm",
):
    """Entries of all kinds in float64, none of them as it would start."""

    def tensor(*shape):
        return 0.5 * torch.randn(*shape, dtype=torch.float64)

    def linear(name, rows, columns, bias=True):
        return {f"{name}.weight": tensor(rows, columns)} | ({f"{name}.bias": tensor(rows)} if bias else {})

    def layer_norm(name):
        return {f"{name}.weight": 1 + tensor(dim), f"{name}.bias": tensor(dim)}

    state = {"cls_token": tensor(1, 1, dim)} if class_token else {}
    state["pos_embed"] = tensor(1, grid[0] * grid[1] + (class_token and class_position), dim)
    state["patch_embed.proj.weight"] = tensor(dim, channels, patch, patch)
    state["patch_embed.proj.bias"] = tensor(dim)
    for number in range(depth):
        block = f"blocks.{number}"
        state |= layer_norm(f"{block}.norm1") | layer_norm(f"{block}.norm2")
        state |= linear(f"{block}.attn.qkv", 3 * dim, dim, qkv_bias) | linear(f"{block}.attn.proj", dim, dim)
        state |= linear(f"{block}.mlp.fc1", hidden, dim) | linear(f"{block}.mlp.fc2", dim, hidden)
    return state | layer_norm(norm) | linear("head", num_classes, dim)


def logits(state, images, num_heads, epsilon=1e-6):
    """One image, one head, one query at a time."""
    return torch.stack([_logits(state, image, num_heads, epsilon) for image in images])


def _logits(state, image, num_heads, epsilon):
    def linear(name, tokens):
        result = tokens @ state[f"{name}.weight"].T
        return result + state[f"{name}.bias"] if f"{name}.bias" in state else result

    def norm(name, tokens):
        centered = tokens - tokens.mean(-1, keepdim=True)
        scale = (centered.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
        return centered / scale * state[f"{name}.weight"] + state[f"{name}.bias"]

    kernel = state["patch_embed.proj.weight"]
    patch = kernel.shape[-1]
    tokens = []
    for row in range(0, image.shape[1], patch):
        for column in range(0, image.shape[2], patch):
            pixels = image[:, row : row + patch, column : column + patch]
            tokens.append((kernel * pixels).sum((1, 2, 3)) + state["patch_embed.proj.bias"])
    tokens, table = torch.stack(tokens), state["pos_embed"][0]
    prefix = int("cls_token" in state)
    if prefix and len(table) == len(tokens):
        tokens = torch.cat([state["cls_token"][0], tokens + table])
    elif prefix:
        tokens = torch.cat([state["cls_token"][0], tokens]) + table
    else:
        tokens = tokens + table

    depth = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
    for number in range(depth):
        block = f"blocks.{number}"
        query, key, value = linear(f"{block}.attn.qkv", norm(f"{block}.norm1", tokens)).chunk(3, dim=-1)
        width = query.shape[-1] // num_heads
        attended = torch.zeros_like(query)
        for head in range(num_heads):
            of_head = slice(head * width, (head + 1) * width)
            for token in range(len(tokens)):
                scores = key[:, of_head] @ query[token, of_head] / width**0.5
                attended[token, of_head] = torch.softmax(scores, 0) @ value[:, of_head]
        tokens = tokens + linear(f"{block}.attn.proj", attended)
        hidden = linear(f"{block}.mlp.fc1", norm(f"{block}.norm2", tokens))
        tokens = tokens + linear(f"{block}.mlp.fc2", F.gelu(hidden))
    if "fc_norm.weight" in state:
        return linear("head", norm("fc_norm", tokens[prefix:].mean(0)))
    tokens = norm("norm", tokens)
    return linear("head", tokens[0] if prefix else tokens.mean(0))

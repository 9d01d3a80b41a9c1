"""Networks of configs/ in PyTorch: the same parameters under the same names, and the same losses, for benches and fixtures.

Needs the pip package torch. `network(net)` makes one from the `[net]` table of a configuration, `loss(...)` is what its
training minimises.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

SQUARES = 64
MOVES = 1968
THINK_BINS = 20
FLOAT_EPSILON = torch.finfo(torch.float32).eps


def rms_norm(*shape, eps=1e-6):
    return nn.RMSNorm(shape, eps=eps)


class Nnue(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.buckets = net["buckets"]
        self.power = {"clipped": 1, "squared-clipped": 2}[net.get("activation", "clipped")]
        self.features = nn.Linear(768, net["width"])
        self.output = nn.Linear(2 * net["width"], self.buckets)
        view = [(at // 64 + 6) % 12 * 64 + (at % 64 ^ 56) for at in range(768)]
        self.register_buffer("view", torch.tensor(view), persistent=False)

    def forward(self, board):
        views = torch.cat([board, board[:, self.view]])
        own, theirs = self.features(views).clamp(0, 1).pow(self.power).chunk(2)
        values = self.output(torch.cat([own, theirs], 1))
        men = board.sum(1, keepdim=True).long()
        return values.gather(1, (men - 1).clamp(min=0) * self.buckets // 32)


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, outputs, name):
        super().__init__()
        widths = [inputs, *hidden, outputs]
        self.chain = []
        for at, (width, following) in enumerate(zip(widths, widths[1:])):
            self.chain.append(nn.Linear(width, following))
            holder, last = self, name(at).split(".")
            for part in last[:-1]:
                if not hasattr(holder, part):
                    holder.add_module(part, nn.Module())
                holder = getattr(holder, part)
            holder.add_module(last[-1], self.chain[-1])

    def forward(self, x):
        for layer in self.chain[:-1]:
            x = F.relu(layer(x))
        return self.chain[-1](x)


class CnnBlock(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        for half in (1, 2):
            self.add_module(f"ln{half}", rms_norm(channels, 8, 8, eps=FLOAT_EPSILON))
            self.add_module(f"conv{half}", nn.Conv2d(channels, channels, kernel, padding="same"))

    def forward(self, x):
        y = F.gelu(self.conv1(self.ln1(x)))
        return x + F.gelu(self.conv2(self.ln2(y)))


class BilinearHead(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.norm = rms_norm(channels, 8, 8, eps=FLOAT_EPSILON)
        self.from_proj = nn.Conv2d(channels, depth, 1)
        self.to_proj = nn.Conv2d(channels, depth, 1)
        self.promo_bias = nn.Parameter(torch.zeros(5))
        self.register_buffer("places", torch.zeros(MOVES, dtype=torch.long), persistent=False)
        self.register_buffer("kinds", torch.zeros(MOVES, dtype=torch.long), persistent=False)

    def forward(self, x):
        y = self.norm(x)
        pairs = self.from_proj(y).flatten(2).transpose(1, 2) @ self.to_proj(y).flatten(2)
        return pairs.flatten(1)[:, self.places] + self.promo_bias[self.kinds]


class PolicyCnn(nn.Module):
    def __init__(self, net):
        super().__init__()
        channels, kernel = net["channels"], net["kernel"]
        planes = {"mover": 17, "white": 18}[net["view"]]
        blocks = [CnnBlock(channels, kernel) for _ in range(net["blocks"])]
        self.layers = nn.Sequential(nn.Conv2d(planes, channels, kernel, padding="same"), nn.GELU(), *blocks)
        self.head = BilinearHead(channels, net["head"]["bilinear"])

    def forward(self, board):
        return self.head(self.layers(board))


class Attention(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_norm = rms_norm(width // heads)
        self.k_norm = rms_norm(width // heads)
        self.relative = {"each-layer": False, "relative": True}[bias]
        self.bias = nn.Parameter(torch.zeros((heads, 16, 16) if self.relative else (heads, SQUARES, SQUARES)))
        here, there = torch.arange(SQUARES)[:, None], torch.arange(SQUARES)[None]
        distance = (7 + there // 8 - here // 8) * 16 + 7 + there % 8 - here % 8
        self.register_buffer("distance", distance, persistent=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).unbind(2)
        # Norms are computed in at least 32 bits.
        wide = torch.promote_types(v.dtype, torch.float32)
        q, k = self.q_norm(q.to(wide)).to(v.dtype), self.k_norm(k.to(wide)).to(v.dtype)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        bias = self.bias.flatten(1)[:, self.distance] if self.relative else self.bias
        bias = bias.to(v.dtype).expand(len(x), -1, -1, -1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, inner, gated):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False) if gated else None
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        inner = F.silu(self.w1(x))
        return self.w2(inner if self.w3 is None else inner * self.w3(x))


class Block(nn.Module):
    def __init__(self, net, gated):
        super().__init__()
        width = net["width"]
        attention = Attention(width, net["heads"], net.get("bias", "each-layer"))
        self.norm1, self.attn = rms_norm(width), attention
        self.norm2, self.ffn = rms_norm(width), FeedForward(width, net["inner"], gated)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Squares(nn.Module):
    """What both transformers share: a vector for each square through blocks of attention."""

    def __init__(self, net, inputs, gated):
        super().__init__()
        self.squares = nn.Linear(inputs, net["width"], bias=False)
        self.position = nn.Embedding(SQUARES, net["width"])
        self.blocks = nn.ModuleList(Block(net, gated) for _ in range(net["layers"]))
        self.norm_final = rms_norm(net["width"])

    def through(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm_final(x)


class ValueAttention(Squares):
    def __init__(self, net):
        super().__init__(net, 12, gated=False)
        self.hidden = nn.Linear(net["width"], net["hidden"])
        self.output = nn.Linear(net["hidden"], 1)

    def forward(self, board):
        squares = board.unflatten(1, (12, SQUARES)).transpose(1, 2)
        y = self.through(self.squares(squares) + self.position.weight)
        return self.output(F.silu(self.hidden(y.mean(1))))


def game_inputs(net):
    """Inputs for a game of the human network: tabia-human-2 with `sites`, else tabia-human-1."""
    return 82 if net.get("sites") else 80


class Human(Squares):
    """Gives logits of moves, of promotion pieces by file, of win, draw and loss, of think time."""

    def __init__(self, net):
        super().__init__(net, 32, gated=True)
        width, hidden, self.pair = net["width"], net["hidden"], net["pair"]
        self.game = nn.Linear(game_inputs(net), width, bias=False)
        self.from_head = nn.Linear(width, self.pair, bias=False)
        self.to_head = nn.Linear(width, self.pair, bias=False)
        self.promotion_head = nn.Linear(width, 4, bias=False)
        self.value_hidden = nn.Linear(width, hidden)
        self.wdl_head = nn.Linear(hidden, 3)
        self.time_head = nn.Linear(hidden, THINK_BINS)

    def forward(self, squares, game):
        y = self.through(self.squares(squares) + self.position.weight + self.game(game)[:, None])
        pairs = self.from_head(y) @ self.to_head(y).transpose(1, 2) / math.sqrt(self.pair)
        hidden = F.silu(self.value_hidden(y.mean(1)))
        return pairs.flatten(1), self.promotion_head(y[:, 56:]), self.wdl_head(hidden), self.time_head(hidden)


def network(net):
    """The network of a configuration's `[net]` table; `KeyError` for a kind that is not written here."""
    kind = net["kind"]
    if kind == "challenge":
        return {"attention": ValueAttention, "perspective": Nnue}[net["body"]](net)
    if kind == "value-mlp":
        inputs = int(net["encoding"].rsplit("-", 1)[1])
        return Mlp(inputs, net["hidden"], 1, lambda at: f"seq.linear-{at}")
    if kind == "policy-mlp":
        return Mlp(837, net["hidden"], MOVES, lambda at: f"net.{2 * at}")
    return {"nnue": Nnue, "policy-cnn": PolicyCnn, "human": Human}[kind](net)


def masked_cross_entropy(logits, legal, played):
    return F.cross_entropy(logits.float().masked_fill(~legal, -math.inf), played)


def loss(model, inputs, targets, factors, logit_scale=1.0):
    """The loss of a batch. Targets: `value`, or `legal` and `played` and, for the human network, the other heads'."""
    heads = model(*inputs)
    if "value" in targets:
        value, wanted = heads.flatten(), targets["value"]
        match factors["value_kind"]:
            case "l1":
                return F.l1_loss(value, wanted)
            case "squared":
                return F.mse_loss(value, wanted)
            case "chance":
                return F.mse_loss(torch.sigmoid(value * logit_scale), wanted)
            case "cross-entropy":
                return F.binary_cross_entropy_with_logits(value, wanted)
    if not isinstance(heads, tuple):
        return factors["policy"] * masked_cross_entropy(heads, targets["legal"], targets["played"])
    moves, promotion, outcome, think = heads
    piece = promotion[torch.arange(len(promotion), device=promotion.device), targets["file"]]
    return (
        factors["policy"] * masked_cross_entropy(moves, targets["legal"], targets["played"])
        + factors["promotion"] * F.cross_entropy(piece.float(), targets["promotion"])
        + factors["outcome"] * F.cross_entropy(outcome.float(), targets["outcome"])
        + factors["think"] * F.cross_entropy(think.float(), targets["think"])
    )

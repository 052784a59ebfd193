"""Which tokens stand where: told by their number, by the maps that a model makes, and by how they are joined."""

import pytest
import torch
import torch.nn.functional as F
from foreign_networks import GRID, IMAGES, WIDTH, Patches, seeded
from torch import nn

from headgrid.analysis import record_attention
from headgrid.analysis.foreign.joined_tokens import JoinedTokens
from headgrid.analysis.foreign.token_grid import TokenGrid
from headgrid.analysis.recording import NoMapError


class Fused(nn.Module):
    """The plainest attention."""

    def forward(self, tokens):
        return F.scaled_dot_product_attention(tokens, tokens, tokens)


class Given(nn.Module):
    """Tokens that ``cut`` makes of the images, and one attention."""

    def __init__(self, cut):
        super().__init__()
        self.cut, self.attention = cut, Fused()

    def forward(self, images):
        return self.attention(self.cut(images)).mean(dim=1)


def expected(tokens):
    return torch.softmax(tokens @ tokens.mT * tokens.shape[-1] ** -0.5, dim=-1)[:, None]


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (1, 0), (5, 0), (0, 1), (0, 3), (2, 1)])
@torch.no_grad()
def test_tokens_before_and_behind_the_patches(before, behind):
    model = seeded(lambda: Patches(Fused(), before, behind))
    layer = record_attention(model, IMAGES)["layer"]
    weights = expected(model.tokens(IMAGES))
    patches = slice(before, before + 15)
    torch.testing.assert_close(layer.weights.flatten(4).flatten(2, 3), weights[:, :, patches, patches])
    assert (layer.tokens is None) == (before + behind == 0)
    if layer.tokens is not None:
        assert layer.tokens.num_tokens == before + behind
        apart = torch.tensor([*range(before + 15, before + 15 + behind), *range(before)])
        torch.testing.assert_close(layer.tokens.among, weights[:, :, apart][..., apart])
        torch.testing.assert_close(layer.tokens.to_pixels.flatten(3), weights[:, :, apart][..., patches])
        torch.testing.assert_close(layer.tokens.from_pixels.flatten(2, 3), weights[:, :, patches][..., apart])


@torch.no_grad()
def test_registers_put_between_class_token_and_patches_later():
    def cut(images):
        patches = F.avg_pool2d(images, 4).flatten(2).mT
        tokens = torch.cat((torch.ones(len(images), 1, 3), patches), dim=1)
        return torch.concat([tokens[:, :1], torch.full((len(images), 4, 3), 0.5), tokens[:, 1:]], axis=1)

    layer = record_attention(Given(cut), IMAGES)["attention"]
    weights = expected(cut(IMAGES))
    torch.testing.assert_close(layer.matrix(), weights)
    assert layer.tokens.num_tokens == 5


def test_joined_pieces():
    joined = JoinedTokens()
    piece = {length: torch.zeros(2, length, 7) for length in (1, 2, 12, 13, 16)}
    joined.see([piece[12], piece[1]], 1)  # a class token behind,
    joined.see([piece[13], piece[2]], -2)  # two more behind,
    joined.see([piece[1], piece[16]], 1)  # and one before a sequence of unknown make
    assert joined.behind(13, 1) == 1
    assert joined.behind(15, 3) == 3
    assert joined.behind(17, 5) == 0
    assert joined.behind(15, 2) == 0  # more than can be: another sequence of that length


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(2, 9, 6), (2, 9, 1)], -1),  # channels
        ([(2, 12, 7), (2, 12, 7)], 1),  # which of them are the patches?
        ([(2, 8, 3, 5), (2, 4, 3, 5)], 1),  # maps
    ],
)
def test_joined_pieces_that_are_no_sequence_of_patches_and_tokens(shapes, axis):
    joined = JoinedTokens()
    joined.see([torch.zeros(shape) for shape in shapes], axis)
    assert joined.behind(sum(shape[axis] for shape in shapes), 99) == 0


@torch.no_grad()
def test_patches_cut_by_reshaping():
    def cut(images):
        return F.pixel_unshuffle(images, 4).flatten(2).mT

    layer = record_attention(Given(cut), IMAGES)["attention"]
    assert (layer.grid, layer.placement.pixel_size) == (GRID, (4.0, 4.0))
    torch.testing.assert_close(layer.matrix(), expected(cut(IMAGES)))


@torch.no_grad()
def test_every_pixel_a_token():
    layer = record_attention(Given(lambda images: images.flatten(2).mT), IMAGES)["attention"]
    assert (layer.grid, layer.placement.pixel_size) == ((12, 20), (1.0, 1.0))


@torch.no_grad()
def test_overlapping_patches_stand_a_stride_apart():
    class Overlapping(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Conv2d(3, WIDTH, 7, stride=(4, 5), padding=2)
            self.attention = Fused()

        def forward(self, images):
            return self.attention(self.embedding(images).flatten(2).mT).mean(dim=1)

    layer = record_attention(seeded(Overlapping), IMAGES)["attention"]
    assert (layer.grid, layer.placement.pixel_size) == ((3, 4), (4.0, 5.0))


def test_more_than_one_answer_asks_for_the_right_one():
    """27 tokens after two steps of pooling: 5 x 5 patches and two tokens, or 4 x 5 and seven?"""

    class TwoMaps(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, WIDTH, 4, (2, 4)), nn.Conv2d(3, WIDTH, 4, (3, 4), (1, 0))
            self.attention = Fused()

        def forward(self, images):
            first, second = self.first(images).flatten(2).mT, self.second(images).flatten(2).mT
            return self.attention(torch.cat([first[:, :1].repeat(1, 7, 1), second], dim=1) * first.mean())

    model = seeded(TwoMaps)
    assert [tuple(part(IMAGES).shape[2:]) for part in (model.first, model.second)] == [(5, 5), (4, 5)]
    with pytest.raises(ValueError, match=r"5 x 5 patches and 2 others or 4 x 5 patches and 7 others: say the grid"):
        record_attention(model, IMAGES)
    for options in ({"grid": (4, 5)}, {"num_tokens": 7}):
        layer = record_attention(model, IMAGES, **options)["attention"]
        assert (layer.grid, layer.tokens.num_tokens) == ((4, 5), 7)


def test_a_grid_that_does_not_fit():
    model = seeded(lambda: Patches(Fused(), before=1))
    with pytest.raises(ValueError, match="its 16 tokens are not a grid of 5 x 5 patches"):
        record_attention(model, IMAGES, grid=(5, 5))
    with pytest.raises(ValueError, match="not a grid of 3 x 5 patches and 2 others"):
        record_attention(model, IMAGES, grid=GRID, num_tokens=2)


def test_tokens_that_are_no_map_of_the_image():
    def words(images):
        return images.flatten(1)[:, :77, None].expand(-1, -1, 4)

    with pytest.raises(ValueError, match=r"its 77 tokens are none of the maps .* say the grid"):
        record_attention(Given(words), IMAGES)


class Windows(nn.Module):
    """Attention inside of windows of 2 x 2 patches, which are counted through with the images."""

    def forward(self, tokens):
        maps = tokens.unflatten(1, (4, 6)).unflatten(2, (3, 2)).unflatten(1, (2, 2))
        windows = maps.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(0, 2)[:, None]
        return Fused()(windows).flatten(1).unflatten(0, (len(tokens), -1)).flatten(1, 2)


@pytest.mark.parametrize("num_images", [1, 2])
def test_attention_within_windows_is_an_error_that_says_so(num_images):
    images = torch.randn(num_images, 3, 16, 24)
    model = Given(lambda images: F.avg_pool2d(images, 4).flatten(2).mT)
    model.attention = Windows()
    with pytest.raises(ValueError, match=r"attention: its weights are \d+ x 1 x 4 x 4 numbers .* within windows"):
        record_attention(model, images)


@torch.no_grad()
def test_one_layer_that_can_be_placed_is_enough_and_the_others_are_named():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.windows, self.whole = Windows(), Fused()

        def forward(self, images):
            return self.whole(self.windows(F.avg_pool2d(images, 4).flatten(2).mT)[:, :, None].expand(-1, 24, 24))

    record = record_attention(Both(), torch.randn(2, 1, 16, 24))
    assert list(record.layers) == ["whole"]
    assert list(record.left_out) == ["windows"]


def test_a_grid_needs_one_of_its_maps():
    tokens = TokenGrid(2, (8, 12))
    with pytest.raises(NoMapError, match="8 x 12"):
        tokens.layout(50)
    assert tokens.layout(96).grid == (8, 12)
    assert tokens.layout(25).num_class_tokens == 1


def test_layers_that_are_left_out_for_the_same_reason_are_named_together():
    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Fused() for _ in range(5))

        def forward(self, images):
            return sum(block(images.flatten(1)[:, :77, None]) for block in self.blocks)

    with pytest.raises(
        ValueError, match=r"recorded: blocks\.0, blocks\.1, blocks\.2 and 2 more: its 77 tokens"
    ) as told:
        record_attention(Many(), IMAGES)
    assert str(told.value).count("77 tokens") == 1

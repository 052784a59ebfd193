"""Name of a figure -> the function that draws it of one model. The curves of several runs are not among them."""

from headgrid.cli.figures.draw_centers import (
    draw_centers_animation,
    draw_centers_during_training,
    draw_centers_of_layers,
    draw_centers_over_epochs,
    draw_ellipses,
    draw_fitted_ellipses,
)
from headgrid.cli.figures.draw_diagrams import draw_hierarchical_attention_diagram, draw_normal_attention_diagram
from headgrid.cli.figures.draw_maps import (
    draw_attention_maps,
    draw_average_attention,
    draw_footprint_maps,
    draw_layer_illustration,
    draw_mean_attention_maps,
)
from headgrid.cli.figures.draw_measures import (
    draw_content_dependence,
    draw_head_shapes,
    draw_head_similarity,
    draw_kernel_covers,
    draw_locality,
    draw_rollout,
    draw_shift_distributions,
)
from headgrid.cli.figures.draw_overlays import (
    draw_class_token_grid,
    draw_class_token_overlay,
    draw_overlay,
    draw_overlay_grid,
)
from headgrid.cli.figures.drawing import Draw

DRAWINGS: dict[str, Draw] = {
    "layer-illustration": draw_layer_illustration,
    "centers-during-training": draw_centers_during_training,
    "centers-of-layers": draw_centers_of_layers,
    "centers-over-epochs": draw_centers_over_epochs,
    "centers-animation": draw_centers_animation,
    "ellipses": draw_ellipses,
    "fitted-ellipses": draw_fitted_ellipses,
    "attention-maps": draw_attention_maps,
    "mean-attention-maps": draw_mean_attention_maps,
    "average-attention": draw_average_attention,
    "footprint-maps": draw_footprint_maps,
    "normal-attention-diagram": draw_normal_attention_diagram,
    "hierarchical-attention-diagram": draw_hierarchical_attention_diagram,
    "overlay": draw_overlay,
    "overlay-grid": draw_overlay_grid,
    "class-token-overlay": draw_class_token_overlay,
    "class-token-grid": draw_class_token_grid,
    "rollout": draw_rollout,
    "shift-distributions": draw_shift_distributions,
    "locality": draw_locality,
    "content-dependence": draw_content_dependence,
    "kernel-covers": draw_kernel_covers,
    "head-similarity": draw_head_similarity,
    "head-shapes": draw_head_shapes,
}

"""What was published as CIFAR-10 and CIFAR-100: files, sizes, classes, and the numbers people normalise with."""

from dataclasses import dataclass

from headgrid.data.cifar_binary_layout import BinaryLayout
from headgrid.data.cifar_python_layout import PythonLayout
from headgrid.data.dataset import Normalization
from headgrid.data.download import RemoteFolder


@dataclass(frozen=True)
class CifarRelease:
    title: str
    class_names: tuple[str, ...]
    normalization: Normalization
    num_train: int
    num_test: int
    layouts: tuple[BinaryLayout | PythonLayout, ...]
    """The preferred one first."""
    remote: RemoteFolder
    """The address of the binary layout."""


CIFAR_10 = CifarRelease(
    title="CIFAR-10",
    class_names=(
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    ),
    # These standard deviations are means over images rather than over pixels. The original code, like most,
    # uses them, and so the published accuracies belong to them.
    normalization=Normalization((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    num_train=50_000,
    num_test=10_000,
    layouts=(
        BinaryLayout(
            "cifar-10-batches-bin",
            train_files=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
            test_files=("test_batch.bin",),
            num_label_bytes=1,
        ),
        PythonLayout(
            "cifar-10-batches-py",
            train_files=tuple(f"data_batch_{number}" for number in range(1, 6)),
            test_files=("test_batch",),
            label_key=b"labels",
        ),
    ),
    remote=RemoteFolder(
        url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        md5="c32a1d4ab5d03f1284b67883e8d87530",
        folder="cifar-10-batches-bin",
    ),
)

CIFAR_100 = CifarRelease(
    title="CIFAR-100",
    class_names=(
        *("apple", "aquarium_fish", "baby", "bear", "beaver"),
        *("bed", "bee", "beetle", "bicycle", "bottle"),
        *("bowl", "boy", "bridge", "bus", "butterfly"),
        *("camel", "can", "castle", "caterpillar", "cattle"),
        *("chair", "chimpanzee", "clock", "cloud", "cockroach"),
        *("couch", "crab", "crocodile", "cup", "dinosaur"),
        *("dolphin", "elephant", "flatfish", "forest", "fox"),
        *("girl", "hamster", "house", "kangaroo", "keyboard"),
        *("lamp", "lawn_mower", "leopard", "lion", "lizard"),
        *("lobster", "man", "maple_tree", "motorcycle", "mountain"),
        *("mouse", "mushroom", "oak_tree", "orange", "orchid"),
        *("otter", "palm_tree", "pear", "pickup_truck", "pine_tree"),
        *("plain", "plate", "poppy", "porcupine", "possum"),
        *("rabbit", "raccoon", "ray", "road", "rocket"),
        *("rose", "sea", "seal", "shark", "shrew"),
        *("skunk", "skyscraper", "snail", "snake", "spider"),
        *("squirrel", "streetcar", "sunflower", "sweet_pepper", "table"),
        *("tank", "telephone", "television", "tiger", "tractor"),
        *("train", "trout", "tulip", "turtle", "wardrobe"),
        *("whale", "willow_tree", "wolf", "woman", "worm"),
    ),
    normalization=Normalization((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    num_train=50_000,
    num_test=10_000,
    layouts=(
        # Two label bytes: the coarse class, then the fine one.
        BinaryLayout("cifar-100-binary", ("train.bin",), ("test.bin",), num_label_bytes=2),
        PythonLayout("cifar-100-python", ("train",), ("test",), label_key=b"fine_labels"),
    ),
    remote=RemoteFolder(
        url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        md5="03b5dce01913d631647c71ecec9e9cb8",
        folder="cifar-100-binary",
    ),
)

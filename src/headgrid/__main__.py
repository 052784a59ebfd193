"""`python -m headgrid`, also for `torchrun -m headgrid train ...`."""

import sys

from headgrid.cli.main import main

sys.exit(main())

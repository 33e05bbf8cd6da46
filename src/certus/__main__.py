"""`python -m certus`."""

import sys

from certus.cli.main import main

sys.exit(main())

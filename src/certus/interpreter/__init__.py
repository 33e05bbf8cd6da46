"""Run programs concretely, with exact memory; used by engines that search among runs and by `check`."""

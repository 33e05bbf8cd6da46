"""The version of Certus, for packages, reports and saved files."""

VERSION = "0.1.0"

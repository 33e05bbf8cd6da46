"""The version of Certus, for people, packages and saved files."""

VERSION = "0.1.0"
